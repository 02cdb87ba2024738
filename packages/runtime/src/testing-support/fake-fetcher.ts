import { MissingTopicError, OffsetOutOfRangeError } from '../client/errors.ts';
import type {
  AbortedTransaction,
  FetchedPartition,
  FetcherOptions,
  FetchPort,
  IsolationLevel,
  TopicPartition,
  TopicPartitionKey,
} from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import type { FakeCluster } from './fake-cluster.ts';

interface Position {
  readonly topic: string;
  readonly partition: number;
  offset: bigint;
  isPaused: boolean;
  /** An empty response is handed over once, so that the end is known. */
  isToldEmpty: boolean;
}

/** Reads the fake cluster's logs whenever it is drained. */
export class FakeFetcher implements FetchPort {
  readonly #cluster: FakeCluster;
  readonly #options: FetcherOptions;
  readonly #positions = new Map<TopicPartitionKey, Position>();
  readonly #stopListening: () => void;
  readonly pauses: string[] = [];
  #maxPartitionBytes: number;

  constructor(cluster: FakeCluster, options: FetcherOptions) {
    this.#cluster = cluster;
    this.#options = options;
    this.#maxPartitionBytes = options.maxPartitionBytes;
    this.#stopListening = cluster.listen((topic, partition) => {
      if (this.#positions.has(topicPartitionKey(topic, partition))) this.#ready();
    });
  }

  assign(positions: readonly (TopicPartition & { readonly offset: bigint })[]): void {
    for (const { topic, partition, offset } of positions) {
      this.#positions.set(topicPartitionKey(topic, partition), {
        topic,
        partition,
        offset,
        isPaused: false,
        isToldEmpty: false,
      });
    }
    this.#ready();
  }

  unassign(partitions: readonly TopicPartition[]): void {
    for (const { topic, partition } of partitions) {
      this.#positions.delete(topicPartitionKey(topic, partition));
    }
  }

  pause(topic: string, partition: number): void {
    this.pauses.push(topicPartitionKey(topic, partition));
    this.#get(topic, partition).isPaused = true;
  }

  resume(topic: string, partition: number): void {
    this.#get(topic, partition).isPaused = false;
    this.#ready();
  }

  limitPartitions(maxBytes: number): void {
    this.#maxPartitionBytes = Math.min(maxBytes, this.#options.maxPartitionBytes);
  }

  drain(): FetchedPartition[] {
    const fetched: FetchedPartition[] = [];
    for (const position of this.#positions.values()) {
      if (position.isPaused) continue;
      const part = this.#fetch(position);
      if (part !== null) fetched.push(part);
    }
    return fetched;
  }

  position(topic: string, partition: number): bigint {
    return this.#get(topic, partition).offset;
  }

  beginningOffsets(
    partitions: readonly TopicPartition[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
    return this.#offsets(partitions, (topic, p) => this.#cluster.log(topic, p).logStartOffset);
  }

  endOffsets(
    partitions: readonly TopicPartition[],
    isolation: IsolationLevel,
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
    return this.#offsets(partitions, (topic, p) => {
      const log = this.#cluster.log(topic, p);
      return isolation === 'read_committed'
        ? (log.lastStableOffset ?? log.endOffset)
        : log.endOffset;
    });
  }

  offsetsForTimestamps(
    partitions: readonly (TopicPartition & { readonly timestampMs: number })[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
    const found = new Map<TopicPartitionKey, bigint>();
    for (const { topic, partition, timestampMs } of partitions) {
      const records = this.#cluster.log(topic, partition).records();
      const first = records.find(({ timestamp }) => timestamp >= timestampMs);
      if (first !== undefined) found.set(topicPartitionKey(topic, partition), first.offset);
    }
    return Promise.resolve(found);
  }

  close(): Promise<void> {
    this.#stopListening();
    this.#positions.clear();
    return Promise.resolve();
  }

  /** What the fake's logs say was aborted; set by tests. */
  abortedTransactions: readonly AbortedTransaction[] = [];

  #fetch(position: Position): FetchedPartition | null {
    const { topic, partition, offset } = position;
    if (this.#cluster.partitionCount(topic) === undefined) {
      this.#positions.delete(topicPartitionKey(topic, partition));
      return missing(position);
    }
    const log = this.#cluster.log(topic, partition);
    const isCommittedOnly = this.#options.isolationLevel === 'read_committed';
    const common = {
      topic,
      partition,
      abortedTransactions: isCommittedOnly
        ? [
            ...this.abortedTransactions,
            // As a broker does: not those that end before the position, whose producer may have gone on.
            ...log.abortedTransactions.filter(({ endOffset }) => endOffset >= offset),
          ]
        : this.abortedTransactions,
      highWatermark: log.endOffset,
      lastStableOffset: log.lastStableOffset ?? log.endOffset,
      logStartOffset: log.logStartOffset,
    };
    if (offset < log.logStartOffset || offset > log.endOffset) {
      this.#positions.delete(topicPartitionKey(topic, partition));
      const error = new OffsetOutOfRangeError(`${topic}-${String(partition)} ${String(offset)}`);
      return { ...common, records: Buffer.alloc(0), nextOffset: offset, error };
    }
    const isOpen = isCommittedOnly && log.hasOpenTransactions;
    const end = (isOpen ? log.lastStableOffset : null) ?? log.endOffset;
    const { records, nextOffset } = log.read(offset, this.#maxPartitionBytes, end);
    if (nextOffset === offset) {
      if (position.isToldEmpty) return null;
      position.isToldEmpty = true;
    }
    position.offset = nextOffset;
    return { ...common, records, nextOffset, error: null };
  }

  #offsets(
    partitions: readonly TopicPartition[],
    of: (topic: string, partition: number) => bigint,
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>> {
    return Promise.resolve(
      new Map(
        partitions.map(({ topic, partition }) => [
          topicPartitionKey(topic, partition),
          of(topic, partition),
        ]),
      ),
    );
  }

  #get(topic: string, partition: number): Position {
    const position = this.#positions.get(topicPartitionKey(topic, partition));
    if (position === undefined) throw new Error(`${topic}-${String(partition)} is not assigned`);
    return position;
  }

  #ready(): void {
    queueMicrotask(this.#options.onReady);
  }
}

function missing({ topic, partition, offset }: Position): FetchedPartition {
  return {
    topic,
    partition,
    records: Buffer.alloc(0),
    abortedTransactions: [],
    highWatermark: -1n,
    lastStableOffset: -1n,
    logStartOffset: -1n,
    nextOffset: offset,
    error: new MissingTopicError(`no ${topic}`, { context: { topic, partition } }),
  };
}
