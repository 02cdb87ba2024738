import type { RecordHeaders } from '@millrace/protocol';
import type {
  FetchPort,
  IsolationLevel,
  StreamsClient,
  TopicPartition,
  TopicPartitionKey,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { withDeadline } from '../client/with-deadline.ts';
import { MissingSourceTopicError, TimeoutError } from '../errors.ts';
import {
  TOPIC_READER_CLOSE_TIMEOUT_MS,
  TOPIC_READER_FETCH_BYTES,
  TOPIC_READER_MAX_WAIT_MS,
} from '../limits.ts';
import { systemClock } from '../platform/clock.ts';
import { RecordWalker } from '../records/record-walker.ts';
import { toRecordSerde } from '../serdes/custom-serde.ts';
import type { RecordSerde, Serde } from '../serdes/serde.ts';
import { topicPartitions } from './topic-partitions.ts';

export interface TopicReaderOptions<K, V> {
  readonly topic: string;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Where to begin in each partition; default the beginning. */
  readonly from?: ReadFrom;
  /** Where to end in each partition; default the end that it has when the reading starts. */
  readonly to?: ReadTo;
  /** Default: all. */
  readonly partitions?: readonly number[];
  readonly isolationLevel?: IsolationLevel;
  /** Ends the reading, also while it waits. */
  readonly signal?: AbortSignal;
  /** Longest wait for the next part of what is known to be there, ms; default none. */
  readonly stallTimeoutMs?: number;
}

/**
 * `tail`: that many offsets before the end. `offset`: there, or at that end of the log which is nearer.
 * `timestampMs`: the first record with that timestamp or a later one.
 */
export type ReadFrom =
  | 'beginning'
  | 'end'
  | { readonly tail: bigint }
  | { readonly offset: bigint }
  | { readonly timestampMs: number };

/**
 * Exclusive: `offset` and the first record with `timestampMs` or a later one are not read. Never is
 * until `signal` says so; the others wait for nothing that is not there when the reading starts.
 */
export type ReadTo =
  'end' | 'never' | { readonly offset: bigint } | { readonly timestampMs: number };

export interface ReadRecord<K, V> {
  readonly partition: number;
  readonly offset: bigint;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly key: K | null;
  readonly value: V | null;
  readonly headers: RecordHeaders | null;
}

/**
 * Reads a topic from where it is told to where it is told, in order per partition, as chunks of
 * records. It joins no group and commits nothing.
 *
 * @throws MissingSourceTopicError, TimeoutError after `stallTimeoutMs`, DeserializationError
 */
export async function* readTopic<K, V>(
  client: StreamsClient,
  options: TopicReaderOptions<K, V>,
): AsyncGenerator<ReadRecord<K, V>[], void, void> {
  const { topic } = options;
  const isolationLevel = options.isolationLevel ?? 'read_committed';
  const all = await topicPartitions(client, topic);
  if (all === null) {
    throw new MissingSourceTopicError(`Topic ${topic} does not exist`, { context: { topic } });
  }
  const { signal } = options;
  let wake: () => void = () => undefined;
  const onAbort = (): void => {
    wake();
  };
  signal?.addEventListener('abort', onAbort);
  const fetcher = client.fetcher({
    isolationLevel,
    maxWaitMs: TOPIC_READER_MAX_WAIT_MS,
    minBytes: 1,
    maxBytes: TOPIC_READER_FETCH_BYTES,
    maxPartitionBytes: TOPIC_READER_FETCH_BYTES,
    onReady: () => wake(),
  });
  try {
    const partitions = all.filter(
      ({ partition }) => options.partitions?.includes(partition) ?? true,
    );
    const open = await openPartitions(fetcher, partitions, isolationLevel, options);
    const keySerde = toRecordSerde(options.key, topic);
    const valueSerde = toRecordSerde(options.value, topic);
    fetcher.assign(
      [...open.values()].map(({ partition, walker }) => ({
        topic,
        partition,
        offset: walker.position,
      })),
    );
    const isEndless = options.to === 'never';
    const stallTimeoutMs = isEndless ? undefined : options.stallTimeoutMs;
    while (open.size > 0 && signal?.aborted !== true) {
      const ready = new Promise<void>((resolve) => (wake = resolve));
      const fetched = fetcher.drain();
      if (fetched.length === 0) {
        await (stallTimeoutMs === undefined ? ready : within(stallTimeoutMs, ready, topic));
        continue;
      }
      for (const part of fetched) {
        if (part.error !== null) throw part.error;
        const key = topicPartitionKey(part.topic, part.partition);
        const reading = open.get(key);
        if (reading === undefined) continue;
        reading.walker.push(part);
        const records = take(reading, keySerde, valueSerde);
        if (reading.end !== null && reading.walker.position >= reading.end) {
          open.delete(key);
          fetcher.unassign([part]);
        }
        if (records.length > 0) yield records;
      }
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    await fetcher.close(TOPIC_READER_CLOSE_TIMEOUT_MS);
  }
}

interface Reading {
  readonly partition: number;
  readonly walker: RecordWalker;
  /** Exclusive; null: none. */
  readonly end: bigint | null;
}

function within(ms: number, ready: Promise<void>, topic: string): Promise<void> {
  const stalled = (): TimeoutError =>
    new TimeoutError(
      `Nothing more of topic ${topic} has arrived within ${ms} ms; are the leaders of its partitions up?`,
      { context: { topic } },
    );
  return withDeadline(systemClock, ms, ready, stalled);
}

async function openPartitions(
  fetcher: FetchPort,
  partitions: readonly TopicPartition[],
  isolationLevel: IsolationLevel,
  { from = 'beginning', to = 'end' }: Pick<TopicReaderOptions<unknown, unknown>, 'from' | 'to'>,
): Promise<Map<TopicPartitionKey, Reading>> {
  const begins = await fetcher.beginningOffsets(partitions);
  const ends = await fetcher.endOffsets(partitions, isolationLevel);
  const fromTimes = await offsetsAt(fetcher, partitions, from);
  const toTimes = await offsetsAt(fetcher, partitions, to);
  const open = new Map<TopicPartitionKey, Reading>();
  for (const { topic, partition } of partitions) {
    const key = topicPartitionKey(topic, partition);
    const begin = begins.get(key) ?? 0n;
    const end = ends.get(key) ?? begin;
    const wanted = startOf(from, begin, end, fromTimes.get(key));
    const start = wanted < begin ? begin : wanted > end ? end : wanted;
    const stop = stopOf(to, end, toTimes.get(key));
    if (stop === null || start < stop) {
      open.set(key, { partition, walker: new RecordWalker(topic, partition, start), end: stop });
    }
  }
  return open;
}

/** Absent for a partition that has no record so late. */
async function offsetsAt(
  fetcher: FetchPort,
  partitions: readonly TopicPartition[],
  place: ReadFrom | ReadTo,
): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
  if (typeof place === 'string' || !('timestampMs' in place)) return new Map();
  const { timestampMs } = place;
  return fetcher.offsetsForTimestamps(partitions.map((each) => ({ ...each, timestampMs })));
}

function startOf(from: ReadFrom, begin: bigint, end: bigint, atTime: bigint | undefined): bigint {
  if (from === 'beginning') return begin;
  if (from === 'end') return end;
  if ('tail' in from) return end - from.tail;
  return 'offset' in from ? from.offset : (atTime ?? end);
}

function stopOf(to: ReadTo, end: bigint, atTime: bigint | undefined): bigint | null {
  if (to === 'never') return null;
  if (to === 'end') return end;
  const stop = 'offset' in to ? to.offset : (atTime ?? end);
  return stop < end ? stop : end;
}

/** What has been fetched of one partition, up to the end that was set. */
function take<K, V>(
  { partition, walker, end }: Reading,
  keySerde: RecordSerde<K>,
  valueSerde: RecordSerde<V>,
): ReadRecord<K, V>[] {
  const records: ReadRecord<K, V>[] = [];
  const { cursor } = walker;
  while (walker.next()) {
    const offset = cursor.offset();
    if (end !== null && offset >= end) continue;
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor;
    const headers = cursor.nullableHeaders();
    records.push({
      partition,
      offset,
      timestamp: cursor.timestamp,
      key: keyStart === -1 ? null : keySerde.read(buffer, keyStart, keyEnd, headers),
      value: valueStart === -1 ? null : valueSerde.read(buffer, valueStart, valueEnd, headers),
      headers,
    });
  }
  return records;
}
