import type { StreamsClient } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import {
  LAST_RECORDS_STEP,
  TOPIC_READER_CLOSE_TIMEOUT_MS,
  TOPIC_READER_FETCH_BYTES,
  TOPIC_READER_MAX_WAIT_MS,
} from '../limits.ts';
import { topicPartitions } from './topic-partitions.ts';
import { readTopic, type ReadRecord, type TopicReaderOptions } from './topic-reader.ts';

/**
 * The last record of each partition that has one, by partition. A partition's last offsets need not
 * hold records (transactions leave markers there, aborted ones more than that, and compaction takes
 * records away), so it looks further and further back.
 *
 * @throws MissingSourceTopicError
 */
export async function lastRecords<K, V>(
  client: StreamsClient,
  options: Omit<TopicReaderOptions<K, V>, 'from' | 'partitions'>,
): Promise<Map<number, ReadRecord<K, V>>> {
  const last = new Map<number, ReadRecord<K, V>>();
  const lengths = await logLengths(client, options.topic);
  for (let tail = 1n; lengths.size > 0; tail *= LAST_RECORDS_STEP) {
    const partitions = [...lengths.keys()];
    for await (const records of readTopic(client, { ...options, partitions, from: { tail } })) {
      for (const record of records) last.set(record.partition, record);
    }
    for (const [partition, length] of lengths) {
      if (last.has(partition) || tail >= length) lengths.delete(partition);
    }
  }
  return last;
}

/** Distance of begin and end of each partition that is not empty; of a missing topic, none. */
async function logLengths(client: StreamsClient, topic: string): Promise<Map<number, bigint>> {
  const partitions = (await topicPartitions(client, topic)) ?? [];
  const fetcher = client.fetcher({
    isolationLevel: 'read_uncommitted',
    maxWaitMs: TOPIC_READER_MAX_WAIT_MS,
    minBytes: 1,
    maxBytes: TOPIC_READER_FETCH_BYTES,
    maxPartitionBytes: TOPIC_READER_FETCH_BYTES,
    onReady: () => undefined,
  });
  try {
    const begins = await fetcher.beginningOffsets(partitions);
    const ends = await fetcher.endOffsets(partitions, 'read_uncommitted');
    const lengths = new Map<number, bigint>();
    for (const { partition } of partitions) {
      const key = topicPartitionKey(topic, partition);
      const length = (ends.get(key) ?? 0n) - (begins.get(key) ?? 0n);
      if (length > 0n) lengths.set(partition, length);
    }
    return lengths;
  } finally {
    await fetcher.close(TOPIC_READER_CLOSE_TIMEOUT_MS);
  }
}
