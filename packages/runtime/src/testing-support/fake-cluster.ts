import { uuidToString } from '@millrace/protocol';
import type { NewTopic, OffsetAndMetadata } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { FakeGroup } from './fake-group.ts';
import { FakeLog } from './fake-log.ts';
import { FakeTransactions } from './fake-transactions.ts';

/** Topics and groups in memory, shared by the fake clients of one test. */
export class FakeCluster {
  readonly #topics = new Map<string, FakeLog[]>();
  readonly #ids = new Map<string, string>();
  #createdCount = 0;
  readonly topicConfigs = new Map<string, ReadonlyMap<string, string>>();
  readonly #groups = new Map<string, FakeGroup>();
  readonly transactions = new FakeTransactions(this);
  readonly #listeners = new Set<(topic: string, partition: number) => void>();
  /** DeleteRecords requests as they came. */
  readonly deleteRequests: (readonly { topic: string; partition: number; offset: bigint }[])[] = [];
  readonly commits: ReadonlyMap<string, OffsetAndMetadata>[] = [];
  /** Replaces the answer to DeleteRecords, to fail it or hold it up. */
  onDeleteRecords: (() => Promise<void>) | null = null;

  createTopic(topic: string, partitionCount = 1): void {
    if (this.#topics.has(topic)) return;
    const id = Buffer.alloc(16);
    id.writeUInt32BE(++this.#createdCount, 4);
    this.#ids.set(topic, uuidToString(id));
    this.#topics.set(
      topic,
      Array.from({ length: partitionCount }, () => new FakeLog()),
    );
  }

  create(topic: NewTopic): void {
    this.createTopic(topic.topic, topic.partitionCount);
    this.topicConfigs.set(topic.topic, topic.config);
  }

  /** Another one each time that the topic is created. */
  topicId(topic: string): string | null {
    return this.#ids.get(topic) ?? null;
  }

  topicNames(): string[] {
    return [...this.#topics.keys()];
  }

  deleteTopic(topic: string): void {
    this.#topics.delete(topic);
  }

  partitionCount(topic: string): number | undefined {
    return this.#topics.get(topic)?.length;
  }

  log(topic: string, partition = 0): FakeLog {
    const log = this.#topics.get(topic)?.[partition];
    if (log === undefined)
      throw new Error(`no ${topicPartitionKey(topic, partition)} in the fake cluster`);
    return log;
  }

  /** Tells readers that the partition has more. */
  changed(topic: string, partition = 0): void {
    for (const listener of [...this.#listeners]) listener(topic, partition);
  }

  listen(listener: (topic: string, partition: number) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  group(groupId: string): FakeGroup {
    let group = this.#groups.get(groupId);
    if (group === undefined) {
      group = new FakeGroup(groupId);
      this.#groups.set(groupId, group);
    }
    return group;
  }
}
