/** `millrace dump-log` against Kafka's own DumpLogSegments, on the same files. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock, LogDir, parseLogConfig } from '@millrace/compaction';
import { describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { kafkaJars, missingForJava } from '../support/kafka/jars.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { applyStep } from './apply-history.ts';
import { historyOf, T0 } from './log-history.ts';

const JAVA_MS = 60_000;

interface Batch {
  readonly position: number;
  readonly baseOffset: string;
  readonly lastOffset: string;
  readonly records: number;
  readonly sizeBytes: number;
  readonly codec: string;
  readonly maxTimestamp: number;
  readonly leaderEpoch: number;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly lastSequence: number;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly crc: number;
  readonly isCrcValid: boolean;
}

interface DumpedRecord {
  readonly offset: string;
  readonly timestamp: number;
  /** Of key and value; -1: null. */
  readonly keySize: number;
  readonly valueSize: number;
  readonly headerKeys: string;
}

interface Dump {
  readonly batches: Batch[];
  readonly records: DumpedRecord[];
  /** Bytes at the end of a file that are no batch. */
  readonly invalidBytes: number;
}

const NAMES: Readonly<Record<string, keyof Batch>> = {
  baseOffset: 'baseOffset',
  lastOffset: 'lastOffset',
  count: 'records',
  baseSequence: 'baseSequence',
  lastSequence: 'lastSequence',
  producerId: 'producerId',
  producerEpoch: 'producerEpoch',
  partitionLeaderEpoch: 'leaderEpoch',
  isTransactional: 'isTransactional',
  isControl: 'isControl',
  position: 'position',
  CreateTime: 'maxTimestamp',
  LogAppendTime: 'maxTimestamp',
  size: 'sizeBytes',
  compresscodec: 'codec',
  crc: 'crc',
  isvalid: 'isCrcValid',
};
const TEXTS = new Set(['baseOffset', 'lastOffset', 'producerId', 'codec']);

function kafkaDump(files: readonly string[], ...options: string[]): Dump {
  const output = execFileSync(
    'java',
    [
      ...['-XX:TieredStopAtLevel=1', '-cp', join(kafkaJars(), '*')],
      ...['org.apache.kafka.tools.DumpLogSegments', '--files', files.join(','), ...options],
    ],
    { encoding: 'utf8', timeout: JAVA_MS, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const batches: Batch[] = [];
  const records: DumpedRecord[] = [];
  let invalidBytes = 0;
  for (const line of output.split('\n')) {
    if (line.startsWith('baseOffset:')) batches.push(theirBatch(line));
    if (line.startsWith('| offset:')) records.push(theirRecord(line));
    const cut = /Found (\d+) invalid bytes at the end/.exec(line);
    if (cut !== null) invalidBytes += Number(cut[1]);
  }
  return { batches, records, invalidBytes };
}

function theirBatch(line: string): Batch {
  const fields: Record<string, unknown> = {};
  for (const [, name, value] of line.matchAll(/(\w+): (\S+)/g)) {
    const ours = NAMES[name as string];
    if (ours === undefined) continue;
    if (TEXTS.has(ours)) fields[ours] = value;
    else fields[ours] = value === 'true' || value === 'false' ? value === 'true' : Number(value);
  }
  return fields as unknown as Batch;
}

function theirRecord(line: string): DumpedRecord {
  const field = (name: string): string => new RegExp(`${name}: (-?\\d+)`).exec(line)?.[1] ?? '';
  return {
    offset: field('offset'),
    timestamp: Number(field('CreateTime')),
    keySize: Number(field('keySize')),
    valueSize: Number(field('valueSize')),
    headerKeys: /headerKeys: \[([^\]]*)\]/.exec(line)?.[1] ?? '',
  };
}

interface OurPart {
  readonly kind: string;
  readonly [name: string]: unknown;
}

interface OurDump extends Dump {
  readonly code: number | null;
  readonly damages: readonly OurPart[];
}

async function ourDump(files: readonly string[], ...options: string[]): Promise<OurDump> {
  const result = await runHere(['dump-log', ...files, '--json', ...options]);
  const parts = result.out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as OurPart);
  const damages = parts.filter(({ kind }) => kind === 'damage');
  return {
    code: result.code,
    batches: parts.filter(({ kind }) => kind === 'batch').map(ourBatch),
    records: parts.filter(({ kind }) => kind === 'record').map(ourRecord),
    damages,
    invalidBytes: damages
      .filter(({ damage }) => damage === 'cut' || damage === 'zeros')
      .reduce((sum, { sizeBytes }) => sum + Number(sizeBytes), 0),
  };
}

function ourBatch(part: OurPart): Batch {
  const names = new Set(Object.values(NAMES));
  return Object.fromEntries(
    Object.entries(part).filter(([name]) => names.has(name as keyof Batch)),
  ) as unknown as Batch;
}

function ourRecord(part: OurPart): DumpedRecord {
  const { key, value } = part;
  const isMarker = typeof key === 'object' && key !== null && 'control' in key;
  return {
    offset: String(part['offset']),
    timestamp: Number(part['timestamp']),
    // Kafka shows the sizes of a marker's bytes, we what they say.
    keySize: isMarker ? 4 : sizeOf(key),
    valueSize: isMarker ? 6 : sizeOf(value),
    headerKeys: (part['headers'] as { key: string }[]).map((header) => header.key).join(','),
  };
}

function sizeOf(content: unknown): number {
  if (content === null) return -1;
  if (typeof content === 'string') return Buffer.byteLength(content);
  return Buffer.from((content as { base64: string }).base64, 'base64').length;
}

/** Segments of a random history with transactions, codecs and rolls. */
async function writeSegments(seed: number): Promise<string[]> {
  const directory = temporaryDirectory();
  const clock = new FakeClock(T0);
  const config = parseLogConfig(new Map([['internal.segment.bytes', '8000']]));
  const dir = await LogDir.open(directory, { clock, configOf: () => config });
  const log = dir.createLog('t', 0, null, config);
  for (const step of historyOf(seed, { codecs: true })) applyStep(log, clock, step);
  await dir.close();
  const partition = join(directory, 't-0');
  return readdirSync(partition)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((name) => join(partition, name));
}

const missing = missingForJava();
const title = 'dump-log, next to DumpLogSegments';
describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  it(
    'tells the same batches and records of the same files',
    async () => {
      const files = [...(await writeSegments(2)), ...(await writeSegments(5))];
      const theirs = kafkaDump(files, '--print-data-log');
      const ours = await ourDump(files, '--records');
      expect(ours).toMatchObject({ code: 0, damages: [], invalidBytes: 0 });
      expect(theirs.batches.length).toBeGreaterThan(60);
      expect(theirs.records.length).toBeGreaterThan(100);
      expect(ours.batches).toEqual(theirs.batches);
      expect(ours.records).toEqual(theirs.records);
      expect(theirs.batches.some(({ isControl }) => isControl)).toBe(true);
      expect(new Set(theirs.batches.map(({ codec }) => codec)).size).toBe(5);
    },
    2 * JAVA_MS,
  );

  it(
    'finds a wrong CRC and a cut end where it finds them',
    async () => {
      const files = await writeSegments(4);
      const intact = await ourDump(files);
      const victim = intact.batches.find(({ position }) => position > 0) as Batch;
      const [first] = files as [string];
      const bytes = readFileSync(first);
      const flipped = victim.position + victim.sizeBytes - 1;
      bytes[flipped] = (bytes[flipped] ?? 0) ^ 0x01;
      writeFileSync(first, bytes);
      const last = files.at(-1) as string;
      const cutAt = readFileSync(last).length - 7;
      truncateSync(last, cutAt);

      const theirs = kafkaDump(files);
      const ours = await ourDump(files);
      expect(ours.code).toBe(1);
      expect(ours.batches).toEqual(theirs.batches);
      expect(ours.batches.filter(({ isCrcValid }) => !isCrcValid)).toMatchObject([
        { position: victim.position, baseOffset: victim.baseOffset },
      ]);
      expect(ours.invalidBytes).toBe(theirs.invalidBytes);
      expect(ours.invalidBytes).toBeGreaterThan(0);
      expect(ours.damages).toMatchObject([
        {
          damage: 'crc',
          file: first,
          position: victim.position,
          offset: victim.baseOffset,
          sizeBytes: victim.sizeBytes,
        },
        { damage: 'cut', file: last, position: cutAt - ours.invalidBytes },
      ]);
      const shown = await runHere(['dump-log', ...files]);
      expect(shown.err).toContain(
        `damaged at position ${victim.position}, offset ${victim.baseOffset}, ${victim.sizeBytes} bytes`,
      );
      expect(shown.err).toContain('2 damaged places');
    },
    2 * JAVA_MS,
  );
});
