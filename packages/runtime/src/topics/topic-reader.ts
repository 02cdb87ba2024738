import type { RecordHeaders } from '@millrace/protocol';
import type {
  FetchPort,
  IsolationLevel,
  StreamsClient,
  TopicPartition,
  TopicPartitionKey,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { MissingSourceTopicError } from '../errors.ts';
import {
  TOPIC_READER_CLOSE_TIMEOUT_MS,
  TOPIC_READER_FETCH_BYTES,
  TOPIC_READER_MAX_WAIT_MS,
} from '../limits.ts';
import { RecordWalker } from '../records/record-walker.ts';
import { toRecordSerde } from '../serdes/custom-serde.ts';
import type { RecordSerde, Serde } from '../serdes/serde.ts';
import { topicPartitions } from './topic-partitions.ts';

export interface TopicReaderOptions<K, V> {
  readonly topic: string;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
  /** Where to begin in each partition; default the beginning. `tail`: that many offsets before the end. */
  readonly from?: 'beginning' | { readonly tail: bigint };
  /** Default: all. */
  readonly partitions?: readonly number[];
  readonly isolationLevel?: IsolationLevel;
}

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
 * Reads a topic from where it is told to the end that it has when the reading starts, in order per
 * partition, as chunks of records. It joins no group and commits nothing.
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
  let wake: () => void = () => undefined;
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
    const open = await openPartitions(fetcher, partitions, isolationLevel, options.from);
    const keySerde = toRecordSerde(options.key, topic);
    const valueSerde = toRecordSerde(options.value, topic);
    fetcher.assign(
      [...open.values()].map(({ partition, walker }) => ({
        topic,
        partition,
        offset: walker.position,
      })),
    );
    while (open.size > 0) {
      const ready = new Promise<void>((resolve) => (wake = resolve));
      const fetched = fetcher.drain();
      if (fetched.length === 0) {
        await ready;
        continue;
      }
      for (const part of fetched) {
        if (part.error !== null) throw part.error;
        const key = topicPartitionKey(part.topic, part.partition);
        const reading = open.get(key);
        if (reading === undefined) continue;
        reading.walker.push(part);
        const records = take(reading, keySerde, valueSerde);
        if (reading.walker.position >= reading.end) {
          open.delete(key);
          fetcher.unassign([part]);
        }
        if (records.length > 0) yield records;
      }
    }
  } finally {
    await fetcher.close(TOPIC_READER_CLOSE_TIMEOUT_MS);
  }
}

interface Reading {
  readonly partition: number;
  readonly walker: RecordWalker;
  readonly end: bigint;
}

async function openPartitions(
  fetcher: FetchPort,
  partitions: readonly TopicPartition[],
  isolationLevel: IsolationLevel,
  from: TopicReaderOptions<unknown, unknown>['from'] = 'beginning',
): Promise<Map<TopicPartitionKey, Reading>> {
  const begins = await fetcher.beginningOffsets(partitions);
  const ends = await fetcher.endOffsets(partitions, isolationLevel);
  const open = new Map<TopicPartitionKey, Reading>();
  for (const { topic, partition } of partitions) {
    const key = topicPartitionKey(topic, partition);
    const begin = begins.get(key) ?? 0n;
    const end = ends.get(key) ?? begin;
    const wanted = from === 'beginning' ? begin : end - from.tail;
    const start = wanted > begin ? wanted : begin;
    if (start < end) {
      open.set(key, { partition, walker: new RecordWalker(topic, partition, start), end });
    }
  }
  return open;
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
    if (offset >= end) continue;
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
