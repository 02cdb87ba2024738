import {
  IndexInspector,
  LogStoreError,
  nodeDisk,
  readLogFile,
  SegmentInspector,
  type IndexDamage,
  type LogFileContent,
  type SegmentDamage,
} from '@millrace/compaction';
import type { RecordBatch } from '@millrace/protocol';
import type { Command } from 'commander';
import { CommandError } from './errors.ts';
import { toJsonLine } from './json-lines.ts';
import { contentsOf, readLogRecord, type LogContents, type LogRecord } from './log-records.ts';
import { segmentFiles, topicOf } from './segment-files.ts';
import { counted, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { formatTime } from './times.ts';

interface Options {
  readonly records?: boolean;
  readonly damage?: boolean;
  readonly verify?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Every CRC is checked and every record decoded, whether shown or not. Damage is told on stderr, and
ends the command with exit code 1. With --verify so is what is wrong with the indexes beside a
segment: entries that name no batch, or not as it is, and aborted transactions that are missing.
A segment's file may end in .cleaned, .swap or .deleted. Indexes, producer snapshots (.snapshot),
leader-epoch-checkpoint and checkpoints of offsets are shown entry by entry. The files are only read; of a running broker's last segment the
end may be in the middle of being written.

Examples:
  millrace dump-log data/orders-0
  millrace dump-log data/orders-0/00000000000000000000.log --records
  millrace dump-log data/orders-0 --damage --verify
  millrace dump-log data/__consumer_offsets-12 --records --json
  millrace dump-log data/orders-0/00000000000000000000.timeindex data/cleaner-offset-checkpoint`;

/** `millrace dump-log` */
export function addDumpLogCommand(program: Command, terminal: Terminal): void {
  program
    .command('dump-log')
    .description(
      'show the record batches of log segments and what lies beside them, and check them',
    )
    .argument('<path...>', "files of a log, or a partition's directory for all of its segments")
    .option('-r, --records', 'the records as well; those of internal topics are decoded')
    .option('--damage', 'only what is damaged, and the sums')
    .option('--verify', 'check the indexes of each segment, too')
    .option('--json', 'as JSON, an object a line')
    .addHelpText('after', EXAMPLES)
    .action(async (paths: string[], options: Options) => {
      const files = paths.flatMap(segmentFiles);
      const damages = { segments: 0, others: 0 };
      for (const file of files) {
        if (terminal.outputClosed.aborted) return;
        const others = dumpLogFile(file, options, terminal);
        if (others !== null) damages.others += others;
        else await dumpSegment(file, options, terminal, damages);
      }
      if (damages.segments + damages.others === 0) return;
      throw new CommandError('LOG_DAMAGED', summaryOf(damages, files.length));
    });
}

/** How many places are damaged, in the segments and in what lies beside them. */
interface Damages {
  segments: number;
  others: number;
}

function summaryOf({ segments, others }: Damages, fileCount: number): string {
  const places = counted(segments + others, 'damaged place');
  const cut =
    segments === 0
      ? ''
      : ' A broker that opens the log after a kill cuts it off before the first one; copy the directory before that.';
  return `${places} in ${counted(fileCount, 'file')}.${cut}`;
}

/** Indexes, snapshots and checkpoints; how many are damaged. null: it is a segment. */
function dumpLogFile(file: string, options: Options, terminal: Terminal): number | null {
  let content: LogFileContent | null;
  try {
    content = readLogFile(nodeDisk, file);
  } catch (error) {
    if (!(error instanceof LogStoreError)) throw error;
    if (options.json === true) {
      const { code, message: detail } = error;
      terminal.out(toJsonLine({ kind: 'damage', file, damage: 'file', code, detail }));
    }
    terminal.err(error.message);
    return 1;
  }
  if (content === null) return null;
  const { kind, entries } = content;
  if (options.json === true) {
    for (const entry of entries) {
      terminal.out(toJsonLine({ kind: 'entry', file, contents: kind, ...entry }));
    }
    return 0;
  }
  const count = counted(entries.length, 'entry').replace(/entrys$/, 'entries');
  terminal.out(`${file}: ${kind.replace('-', ' ')}, ${count}`);
  const [first] = entries;
  if (first === undefined || options.damage === true) return 0;
  const names = Object.keys(first);
  const rows = entries.map((entry) => names.map((name) => entry[name] ?? null));
  terminal.out(renderTable(names.map(headOf), rows));
  return 0;
}

/** `lastStableOffset` as `LAST STABLE OFFSET`. */
function headOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase();
}

interface Summary {
  readonly file: string;
  readonly sizeBytes: number;
  batches: number;
  records: number;
  firstOffset: bigint | null;
  lastOffset: bigint | null;
  maxTimestamp: number;
  damages: number;
}

async function dumpSegment(
  file: string,
  options: Options,
  terminal: Terminal,
  found: Damages,
): Promise<void> {
  const indexes = options.verify === true ? new IndexInspector(nodeDisk, file) : null;
  const inspector = new SegmentInspector(nodeDisk, file);
  try {
    const { sizeBytes } = inspector;
    const summary: Summary = {
      file,
      sizeBytes,
      batches: 0,
      records: 0,
      firstOffset: null,
      lastOffset: null,
      maxTimestamp: -1,
      damages: 0,
    };
    const output = new SegmentOutput(file, options, terminal);
    output.begin(sizeBytes);
    const records: LogRecord[] = [];
    const contents: LogContents = contentsOf(topicOf(file));
    const isShowingRecords = options.records === true && options.damage !== true;
    const batches = inspector.batches((cursor) => {
      if (isShowingRecords) records.push(readLogRecord(cursor, contents));
    });
    for (let next = batches.next(); ; next = batches.next()) {
      if (next.done === true) {
        if (next.value !== null) {
          summary.damages++;
          output.damage(next.value);
        }
        break;
      }
      const { position, batch, damages } = next.value;
      count(batch, summary);
      summary.damages += damages.length;
      indexes?.see(position, batch, damages.length === 0);
      output.batch(position, batch, damages);
      for (const record of records.splice(0)) output.record(record);
      for (const damage of damages) output.damage(damage);
      await terminal.drained();
      if (terminal.outputClosed.aborted) break;
    }
    found.segments += summary.damages;
    if (terminal.outputClosed.aborted) return;
    const ofIndexes = indexes?.damages() ?? [];
    found.others += ofIndexes.length;
    for (const damage of ofIndexes) output.indexDamage(damage);
    output.end({ ...summary, damages: summary.damages + ofIndexes.length });
  } finally {
    inspector.close();
  }
}

function count(batch: RecordBatch, summary: Summary): void {
  summary.batches++;
  summary.records += batch.recordCount;
  summary.firstOffset ??= batch.baseOffset;
  summary.lastOffset = batch.lastOffset;
  summary.maxTimestamp = Math.max(summary.maxTimestamp, batch.maxTimestamp);
}

const COLUMNS = [
  ['OFFSETS', 15],
  ['RECORDS', -7],
  ['POSITION', -10],
  ['BYTES', -8],
  ['CODEC', 6],
  ['MAX TIMESTAMP', 24],
  ['EPOCH', -5],
  ['PRODUCER', 20],
  ['CRC', 10],
] as const;

/** Lines as they come: a segment may have millions of batches. */
class SegmentOutput {
  readonly #file: string;
  readonly #options: Options;
  readonly #terminal: Terminal;

  constructor(file: string, options: Options, terminal: Terminal) {
    this.#file = file;
    this.#options = options;
    this.#terminal = terminal;
  }

  begin(sizeBytes: number): void {
    if (this.#options.json === true) return;
    this.#terminal.out(`${this.#file}: ${counted(sizeBytes, 'byte')}`);
    if (this.#options.damage !== true) this.#row(COLUMNS.map(([name]) => name));
  }

  batch(position: number, batch: RecordBatch, damages: readonly SegmentDamage[]): void {
    if (this.#options.damage === true) return;
    if (this.#options.json === true) {
      this.#terminal.out(toJsonLine(batchJson(this.#file, position, batch, damages)));
      return;
    }
    const { baseOffset, lastOffset, recordCount, sizeInBytes } = batch;
    this.#row([
      baseOffset === lastOffset
        ? baseOffset.toString()
        : `${baseOffset.toString()}-${lastOffset.toString()}`,
      String(recordCount),
      String(position),
      String(sizeInBytes),
      codecOf(batch),
      formatTime(batch.maxTimestamp) ?? '-',
      String(batch.partitionLeaderEpoch),
      producerText(batch),
      `${String(batch.crc)}${damages.some(({ kind }) => kind === 'crc') ? ' wrong' : ''}`,
      ...flagsOf(batch),
    ]);
  }

  record(record: LogRecord): void {
    if (this.#options.json === true) {
      this.#terminal.out(toJsonLine({ kind: 'record', ...record }));
      return;
    }
    const { offset, timestamp, key, value, headers } = record;
    const time = timestamp === null ? '-' : (formatTime(timestamp) ?? String(timestamp));
    const more = headers.length === 0 ? '' : `  headers ${toJsonLine(headers)}`;
    this.#terminal.out(
      `  ${offset.toString()}  ${time}  key ${toJsonLine(key)}  value ${toJsonLine(value)}${more}`,
    );
  }

  damage(damage: SegmentDamage): void {
    if (this.#options.json === true) {
      const { kind: damageKind, ...rest } = damage;
      this.#terminal.out(
        toJsonLine({ kind: 'damage', file: this.#file, damage: damageKind, ...rest }),
      );
    }
    this.#terminal.err(
      `${this.#file}: damaged at position ${damage.position}, offset ${damage.offset.toString()}, ` +
        `${counted(damage.sizeBytes, 'byte')}: ${damage.detail}`,
    );
  }

  indexDamage({ path, position, detail }: IndexDamage): void {
    if (this.#options.json === true) {
      const damage = { kind: 'damage', file: path, damage: 'index', position, detail };
      this.#terminal.out(toJsonLine(damage));
    }
    this.#terminal.err(`${path}: damaged at position ${position}: ${detail}`);
  }

  end(summary: Summary): void {
    if (this.#options.json === true) {
      const { maxTimestamp } = summary;
      this.#terminal.out(
        toJsonLine({
          kind: 'segment',
          ...summary,
          maxTimestamp: maxTimestamp < 0 ? null : maxTimestamp,
        }),
      );
      return;
    }
    const { batches, records, firstOffset, lastOffset, damages } = summary;
    const range =
      firstOffset === null || lastOffset === null
        ? ''
        : `, offsets ${firstOffset.toString()} to ${lastOffset.toString()}`;
    const state = damages === 0 ? 'no damage' : counted(damages, 'damaged place');
    this.#terminal.out(
      `${counted(batches, 'batch').replace(/batchs$/, 'batches')}, ${counted(records, 'record')}${range}; ${state}`,
    );
  }

  #row(cells: readonly string[]): void {
    const padded = cells.map((cell, i) => {
      const width = COLUMNS[i]?.[1] ?? 0;
      return width < 0 ? cell.padStart(-width) : cell.padEnd(width);
    });
    this.#terminal.out(padded.join('  ').trimEnd());
  }
}

function batchJson(
  file: string,
  position: number,
  batch: RecordBatch,
  damages: readonly SegmentDamage[],
): unknown {
  return {
    kind: 'batch',
    file,
    position,
    sizeBytes: batch.sizeInBytes,
    baseOffset: batch.baseOffset,
    lastOffset: batch.lastOffset,
    records: batch.recordCount,
    codec: codecOf(batch),
    timestampType: batch.timestampType,
    // With a delete horizon the field holds that, and no record's time.
    baseTimestamp: batch.deleteHorizonMs === null ? orNull(batch.baseTimestamp) : null,
    maxTimestamp: orNull(batch.maxTimestamp),
    leaderEpoch: batch.partitionLeaderEpoch,
    producerId: batch.producerId,
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    lastSequence: batch.lastSequence,
    isTransactional: batch.isTransactional,
    isControl: batch.isControl,
    deleteHorizonMs: batch.deleteHorizonMs,
    crc: batch.crc,
    isCrcValid: !damages.some(({ kind }) => kind === 'crc'),
  };
}

function orNull(timestamp: number): number | null {
  return timestamp < 0 ? null : timestamp;
}

/** A codec that nobody knows is shown by its number. */
function codecOf(batch: RecordBatch): string {
  try {
    return batch.codec;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith('PROTOCOL_') !== true) throw error;
    return `codec ${String(batch.attributes & 0x07)}`;
  }
}

/** `7 epoch 0 seq 0-4` */
function producerText(batch: RecordBatch): string {
  if (!batch.hasProducerId) return '-';
  const { baseSequence, lastSequence } = batch;
  const sequences = baseSequence < 0 ? '' : ` seq ${baseSequence}-${lastSequence}`;
  return `${batch.producerId.toString()} epoch ${batch.producerEpoch}${sequences}`;
}

function flagsOf(batch: RecordBatch): string[] {
  const flags: string[] = [];
  if (batch.isTransactional) flags.push('transactional');
  if (batch.isControl) flags.push('control');
  if (batch.timestampType === 'logAppendTime') flags.push('log append time');
  const { deleteHorizonMs } = batch;
  if (deleteHorizonMs !== null) {
    flags.push(`delete horizon ${formatTime(deleteHorizonMs) ?? deleteHorizonMs}`);
  }
  return flags;
}
