import {
  readTopic,
  serdes,
  type IsolationLevel,
  type ReadFrom,
  type ReadRecord,
  type ReadTo,
  type TopicReaderOptions,
} from '@millrace/runtime/cluster';
import { InvalidArgumentError, type Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { invalidCommand } from './errors.ts';
import { findTopic } from './find-topic.ts';
import { OUTPUT_CHUNK_RECORDS } from './limits.ts';
import { parsePartitions, partitionsOf } from './partition-list.ts';
import { parseFrom, parseTo } from './places.ts';
import { unescape } from './produce.ts';
import { FIELDS, jsonLine, textLine, type Field, type OutputFormat } from './record-output.ts';
import { listenForSignals } from './signals.ts';
import type { Terminal } from './terminal.ts';
import { parseTimeout } from './times.ts';
import { parseCount } from './topics-create.ts';
import { addTypeOptions, typesOf, type TypeOptions } from './type-options.ts';

interface Options extends ConnectionOptions, TypeOptions {
  readonly from: ReadFrom;
  readonly to?: ReadTo;
  readonly untilEnd?: boolean;
  readonly maxRecords?: number;
  readonly maxIdle?: number;
  readonly partitions?: readonly number[];
  readonly fields: readonly Field[];
  readonly headers?: boolean;
  readonly separator: string;
  readonly null: string;
  readonly isolation: IsolationLevel;
}

const EXAMPLES = `
A place is: beginning, end, an offset, a time (2026-11-30T08:15, UTC if no zone is named, or
@ and epoch milliseconds), and for --from also -N: the last N offsets of each partition.
Without --to, --until-end, --max-records or --max-idle it goes on until Ctrl-C.
It joins no group and commits nothing.

Examples:
  millrace consume orders --until-end
  millrace consume orders --from -5 --fields partition,offset,timestamp,key,value --until-end
  millrace consume counts --value-type long --max-records 10
  millrace consume orders --json --from end | jq .value`;

type Bytes = Uint8Array;

/** `millrace consume`: the records of a topic become lines. */
export function addConsumeCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command('consume')
    .description('write the records of a topic to the output, one a line')
    .argument('<topic>', 'its name');
  addConnectionOptions(
    addTypeOptions(command)
      .option('--from <place>', 'where to begin in each partition', parseFrom, 'beginning')
      .option('--to <place>', 'where to end in each partition: this is not read any more', parseTo)
      .option('-e, --until-end', 'end where the topic ends now: as --to end')
      .option('-n, --max-records <count>', 'end after so many', parseCount)
      .option('--max-idle <duration>', 'end when nothing has come for so long', parseTimeout)
      .option('-p, --partitions <list>', 'only these, such as 0,2 or 0-3', parsePartitions)
      .addOption(
        command
          .createOption('-f, --fields <list>', `columns: ${FIELDS.join(', ')}`)
          .argParser(parseFields)
          .default(['key', 'value'], 'key,value'),
      )
      .option('-H, --headers', 'headers before key and value: as --fields headers,key,value')
      .addOption(
        command
          .createOption('-s, --separator <text>', 'between columns')
          .argParser(unescape)
          .default('\t', 'a tab'),
      )
      .option('--null <text>', 'how null is written', 'null')
      .addOption(
        command
          .createOption(
            '--isolation <level>',
            'whether records of open and aborted transactions are left out',
          )
          .choices(['read_committed', 'read_uncommitted'])
          .default('read_committed'),
      )
      .addHelpText('after', EXAMPLES),
  ).action(async (topic: string, options: Options) => {
    await consume(topic, options, endOf(options), terminal);
  });
}

function endOf({ to, untilEnd }: Options): ReadTo {
  if (to !== undefined && untilEnd === true) {
    throw invalidCommand('--to and --until-end both say where to end: leave one of them out.');
  }
  return untilEnd === true ? 'end' : (to ?? 'never');
}

async function consume(
  topic: string,
  options: Options,
  to: ReadTo,
  terminal: Terminal,
): Promise<void> {
  await withCluster(options, terminal, async ({ client, cluster, timeoutMs }) => {
    const partitions = partitionsOf(await findTopic(cluster, topic), options.partitions);
    const signals = listenForSignals();
    const idle = new IdleTimer(options.maxIdle);
    const reading: TopicReaderOptions<Bytes, Bytes> = {
      topic,
      key: serdes.bytes(),
      value: serdes.bytes(),
      from: options.from,
      to,
      partitions,
      isolationLevel: options.isolation,
      signal: AbortSignal.any([signals.signal, terminal.outputClosed, idle.signal]),
      stallTimeoutMs: timeoutMs,
    };
    const toLine = lineWriter(topic, options);
    let left = options.maxRecords ?? Infinity;
    try {
      for await (const records of readTopic(client, reading)) {
        idle.restart();
        for (let start = 0; start < records.length && left > 0; start += OUTPUT_CHUNK_RECORDS) {
          const chunk = records.slice(start, start + Math.min(OUTPUT_CHUNK_RECORDS, left));
          left -= chunk.length;
          terminal.out(chunk.map(toLine).join('\n'));
          await terminal.drained();
        }
        if (left === 0) return;
      }
    } finally {
      idle.end();
      signals.end();
    }
  });
}

function lineWriter(topic: string, options: Options): (record: ReadRecord<Bytes, Bytes>) => string {
  const types = typesOf(options);
  if (options.json === true) return (record) => jsonLine(record, topic, types);
  const { separator, null: nullText, headers } = options;
  const fields = headers === true ? withHeaders(options.fields) : options.fields;
  const format: OutputFormat = { fields, separator, nullText, ...types };
  return (record) => textLine(record, topic, format);
}

/** Before key and value, whichever comes first. */
function withHeaders(fields: readonly Field[]): readonly Field[] {
  if (fields.includes('headers')) return fields;
  const at = fields.findIndex((field) => field === 'key' || field === 'value');
  return at < 0 ? [...fields, 'headers'] : fields.toSpliced(at, 0, 'headers');
}

function parseFields(text: string): Field[] {
  const fields = text.split(',').map((field) => field.trim());
  const unknown = fields.filter((field) => !(FIELDS as readonly string[]).includes(field));
  if (unknown.length === 0) return fields as Field[];
  throw new InvalidArgumentError(`${unknown.join(', ')} is none of ${FIELDS.join(', ')}.`);
}

/** Ends the reading when nothing comes. */
class IdleTimer {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout | null;

  constructor(maxIdleMs: number | undefined) {
    this.#timer =
      maxIdleMs === undefined
        ? null
        : setTimeout(() => {
            this.#controller.abort();
          }, maxIdleMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  restart(): void {
    this.#timer?.refresh();
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }
}
