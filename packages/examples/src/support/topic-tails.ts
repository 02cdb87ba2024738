import { readTopic, type ReadRecord, type Serde, type StreamsClient } from '@millrace/runtime';
import type { Admin } from 'kafkajs';

interface Topic<K, V> {
  readonly topic: string;
  readonly key: Serde<K>;
  readonly value: Serde<V>;
}

/** Last records of topics. */
export class TopicTails {
  readonly #client: StreamsClient;
  readonly #admin: Admin;

  constructor(client: StreamsClient, admin: Admin) {
    this.#client = client;
    this.#admin = admin;
  }

  /**
   * The last record of each partition that has one. A partition's last offsets need not hold records
   * (they may be markers of transactions, or compacted away), so it looks further and further back.
   */
  async lastRecords<K, V>(topic: Topic<K, V>): Promise<Map<number, ReadRecord<K, V>>> {
    const last = new Map<number, ReadRecord<K, V>>();
    const offsets = await this.#admin.fetchTopicOffsets(topic.topic);
    const lengths = offsets.map(({ low, high }) => BigInt(high) - BigInt(low));
    const filledCount = lengths.filter((length) => length > 0n).length;
    const longest = lengths.reduce((max, length) => (length > max ? length : max), 0n);
    for (let tail = 1n; last.size < filledCount; tail *= 64n) {
      for await (const records of readTopic(this.#client, { ...topic, from: { tail } })) {
        for (const record of records) last.set(record.partition, record);
      }
      if (tail >= longest) break;
    }
    return last;
  }
}
