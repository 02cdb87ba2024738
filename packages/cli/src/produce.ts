import { RecordHeaders } from '@millrace/protocol';
import { serdes, TopicWriter } from '@millrace/runtime/cluster';
import { InvalidArgumentError, type Command } from 'commander';
import { addConnectionOptions, withCluster, type ConnectionOptions } from './connection.ts';
import { CommandError, invalidCommand, messageOf } from './errors.ts';
import { ExitCode } from './exit-codes.ts';
import { findTopic } from './find-topic.ts';
import { inputLines } from './input-lines.ts';
import { toJsonLine } from './json-lines.ts';
import { FAILURES_LISTED } from './limits.ts';
import { partitionsOf } from './partition-list.ts';
import { recordOfJson, recordOfText, type InputRecord, type TextFormat } from './record-input.ts';
import { listenForSignals } from './signals.ts';
import { counted } from './table.ts';
import type { Terminal } from './terminal.ts';
import { addTypeOptions, typesOf, type TypeOptions } from './type-options.ts';

interface Options extends ConnectionOptions, TypeOptions {
  readonly key?: string;
  readonly keySeparator?: string;
  readonly null?: string;
  readonly header?: readonly (readonly [string, string])[];
  readonly partition?: number;
  readonly acks: 'all' | '1';
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
}

const EXAMPLES = `
Lines are values, or with --key-separator keys and values, or with --json objects
such as {"key": "k", "value": "v", "headers": [{"key": "h", "value": "x"}]}, as consume --json
writes them; there "value": null is a tombstone.

Examples:
  echo 'ann,42' | millrace produce orders --key-separator ,
  echo 'ann,-' | millrace produce orders --key-separator , --null -     (a tombstone)
  millrace consume orders --json --until-end | millrace produce copy --json`;

/** `millrace produce`: the lines of the input become records. */
export function addProduceCommand(
  program: Command,
  terminal: Terminal,
  exit: (code: number) => void,
): void {
  const command = program
    .command('produce')
    .description('write the lines of the input to a topic')
    .argument('<topic>', 'its name; it must exist');
  addConnectionOptions(
    addTypeOptions(command)
      .option('-k, --key <text>', 'the key of every record')
      .option('-s, --key-separator <text>', 'what stands between key and value in a line', unescape)
      .option('--null <text>', 'a key or value that is this text is null')
      .option('-H, --header <name=value>', 'for every record; may be repeated', collectHeader)
      .option('-p, --partition <number>', 'for every record; default: the key decides', parseIndex)
      .addOption(
        command
          .createOption(
            '--acks <acks>',
            'when a record counts as written: on all replicas, or on one',
          )
          .choices(['all', '1'])
          .default('all'),
      )
      .addOption(
        command
          .createOption('--compression <codec>', 'of the batches')
          .choices(['none', 'gzip', 'snappy', 'lz4', 'zstd'])
          .default('none'),
      )
      .addHelpText('after', EXAMPLES),
    'lines are JSON objects, and so is the report',
  ).action(async (topic: string, options: Options) => {
    const parse = lineParser(options);
    const isWhole = await produce(topic, options, parse, terminal);
    if (!isWhole) exit(ExitCode.interrupted);
  });
}

type LineParser = (line: string) => InputRecord;

function lineParser(options: Options): LineParser {
  const { json, key, keySeparator, null: nullText } = options;
  const types = typesOf(options);
  const header = options.header ?? null;
  if (json === true && (keySeparator !== undefined || nullText !== undefined)) {
    throw invalidCommand(
      'With --json keys and nulls are in the objects: leave --key-separator and --null out.',
    );
  }
  if (key !== undefined && (keySeparator !== undefined || json === true)) {
    throw invalidCommand(
      '--key is for lines that are values: leave out --key-separator or --json.',
    );
  }
  const format: TextFormat = { keySeparator, nullText, ...types };
  const fixedKey = key === undefined ? null : givenKey(key, format);
  return (line) => {
    const record = json === true ? recordOfJson(line, types) : recordOfText(line, format);
    return {
      key: fixedKey ?? record.key,
      value: record.value,
      headers: header === null ? record.headers : withHeaders(record.headers, header),
      partition: record.partition ?? options.partition,
      timestamp: record.timestamp,
    };
  };
}

function givenKey(key: string, { key: type }: TextFormat): Buffer {
  try {
    return type.fromText(key);
  } catch (error) {
    throw invalidCommand(`--key: ${messageOf(error)}`);
  }
}

function withHeaders(
  own: RecordHeaders | null,
  more: readonly (readonly [string, string])[],
): RecordHeaders {
  const headers = own ?? new RecordHeaders();
  for (const [name, value] of more) headers.add(name, value);
  return headers;
}

/** Resolves with false when Ctrl-C came before the end of the input. */
async function produce(
  topic: string,
  options: Options,
  parse: LineParser,
  terminal: Terminal,
): Promise<boolean> {
  return withCluster(options, terminal, async ({ client, cluster, timeoutMs }) => {
    const described = await findTopic(cluster, topic);
    if (options.partition !== undefined) partitionsOf(described, [options.partition]);
    const delivery = new Delivery();
    const writer = await TopicWriter.open(client, {
      topic,
      key: serdes.bytes(),
      value: serdes.bytes(),
      compression: options.compression,
      acks: options.acks === 'all' ? 'all' : 'leader',
      deliveryTimeoutMs: timeoutMs,
      onAcknowledged: ({ recordCount }) => {
        delivery.acknowledgedCount += recordCount;
      },
      onUndelivered: (batch) => {
        delivery.lost(batch.error);
        return null;
      },
    });
    const signals = listenForSignals();
    if (terminal.isInputTyped) terminal.err('Every line becomes a record; Ctrl-D ends.');
    let failure: unknown = null;
    try {
      await sendAll(writer, parse, delivery, terminal, signals.signal);
    } catch (error) {
      failure = error;
    }
    const wasInterrupted = signals.signal.aborted;
    await writer.close(timeoutMs).catch((error: unknown) => {
      delivery.lost(error);
    });
    signals.end();
    report(topic, options, delivery, terminal);
    if (delivery.missingCount > 0) throw delivery.error(failure);
    if (failure !== null) throw failure as Error;
    return !wasInterrupted;
  });
}

async function sendAll(
  writer: TopicWriter<Uint8Array, Uint8Array>,
  parse: LineParser,
  delivery: Delivery,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  let lineCount = 0;
  for await (const lines of inputLines(terminal.input, signal)) {
    for (const line of lines) {
      lineCount++;
      try {
        send(writer, parse(line));
      } catch (error) {
        throw new CommandError(
          'INPUT_INVALID',
          `Line ${lineCount} of the input: ${reasonOf(error)}. Nothing from this line on was sent.`,
          { cause: error },
        );
      }
      delivery.sentCount++;
      if (writer.isFull) await writer.drained();
    }
    // Once records are lost, later ones would only make the gap harder to see.
    if (delivery.hasLosses) return;
  }
}

function send(
  writer: TopicWriter<Uint8Array, Uint8Array>,
  { key, value, headers, partition, timestamp }: InputRecord,
): void {
  if (partition !== undefined && partition >= writer.partitionCount) {
    throw new RangeError(
      `partition ${partition} does not exist: topic ${writer.topic} has ${writer.partitionCount}`,
    );
  }
  writer.send(key, value, {
    timestamp: timestamp ?? Date.now(),
    headers,
    ...(partition === undefined ? {} : { partition }),
  });
}

/** The innermost words: those around it speak of applications. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const inner = cause instanceof Error && 'code' in cause ? cause : error;
  return messageOf(inner).replace(/\.$/, '');
}

/** What became of the records that were sent. */
class Delivery {
  sentCount = 0;
  acknowledgedCount = 0;
  readonly #reasons = new Set<string>();

  lost(error: unknown): void {
    this.#reasons.add(messageOf(error));
  }

  get hasLosses(): boolean {
    return this.#reasons.size > 0;
  }

  get missingCount(): number {
    return this.sentCount - this.acknowledgedCount;
  }

  error(failure: unknown): CommandError {
    const reasons = [...this.#reasons];
    if (failure !== null) reasons.push(messageOf(failure));
    const shown = reasons.slice(0, FAILURES_LISTED).map((reason) => `- ${reason}`);
    const more = reasons.length - shown.length;
    if (more > 0) shown.push(`- and ${counted(more, 'other failure')}`);
    const { missingCount } = this;
    return new CommandError(
      'RECORDS_UNACKNOWLEDGED',
      `${counted(missingCount, 'record')} of ${this.sentCount} not acknowledged; the topic may have them or not:\n${shown.join('\n')}`,
    );
  }
}

function report(topic: string, { json }: Options, delivery: Delivery, terminal: Terminal): void {
  const { acknowledgedCount: acknowledged, missingCount: unacknowledged } = delivery;
  if (json === true) terminal.out(toJsonLine({ topic, acknowledged, unacknowledged }));
  else terminal.out(`${counted(acknowledged, 'record')} acknowledged by topic ${topic}`);
}

/** `\t` typed in a shell is two characters. */
export function unescape(text: string): string {
  if (text === '') throw new InvalidArgumentError('An empty text separates nothing.');
  return text.replaceAll('\\t', '\t').replaceAll('\\n', '\n');
}

function collectHeader(
  text: string,
  before: readonly (readonly [string, string])[] = [],
): (readonly [string, string])[] {
  const at = text.indexOf('=');
  if (at <= 0) throw new InvalidArgumentError(`'${text}' is not name=value.`);
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

function parseIndex(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`'${text}' is no partition number.`);
}
