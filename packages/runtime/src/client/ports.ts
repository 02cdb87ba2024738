import type { RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../serdes/serde.ts';
import type { SharedMemory } from './response-memory.ts';

/**
 * What the runtime asks of a Kafka client. `client/kafkajs/` implements it over kafkajs's
 * connections; the test driver implements it in memory.
 */
export interface StreamsClient {
  group(options: GroupOptions): GroupPort;
  fetcher(options: FetcherOptions): FetchPort;
  producer(options: ProducerOptions): ProducerPort;
  transactionalProducer(options: TransactionalProducerOptions): TransactionalProducerPort;
  admin(): AdminPort;
  /** Ends every connection that this client opened; bounded by `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

/** `<topic>-<partition>`, the key of maps over topic-partitions. */
export type TopicPartitionKey = string;

export function topicPartitionKey(topic: string, partition: number): TopicPartitionKey {
  return `${topic}-${partition}`;
}

export interface OffsetAndMetadata {
  /** The next offset to read. */
  readonly offset: bigint;
  readonly metadata: string;
}

export type OffsetsToCommit = ReadonlyMap<TopicPartitionKey, TopicPartition & OffsetAndMetadata>;

// ---------------------------------------------------------------------------------------- group

export interface GroupOptions {
  readonly groupId: string;
  readonly groupInstanceId: string | null;
  readonly sessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  readonly rebalanceTimeoutMs: number;
  /** The name that all members must share; a group with another protocol refuses us. */
  readonly protocolName: string;
}

export interface GroupMetadata {
  readonly groupId: string;
  readonly generation: number;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
}

export interface MemberSubscription {
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly topics: readonly string[];
  readonly userData: Buffer;
}

export interface MemberAssignment {
  readonly partitions: readonly TopicPartition[];
  readonly userData: Buffer;
}

/** The member's callbacks. Each promise is awaited before the protocol goes on, up to the rebalance timeout. */
export interface GroupHandler {
  /** Asked at each (re)join. */
  subscription(): { readonly topics: readonly string[]; readonly userData: Buffer };
  /** On the leader only. */
  assign(members: readonly MemberSubscription[]): Promise<ReadonlyMap<string, MemberAssignment>>;
  /** Before every rejoin: finish the record in hand and commit; processing stays stopped until `onAssigned`. */
  onRebalance(): Promise<void>;
  onAssigned(assignment: MemberAssignment, metadata: GroupMetadata): Promise<void>;
  /** The member was fenced or expired: what it owned has other owners; nothing may be committed. */
  onLost(error: Error): Promise<void>;
  /** The member cannot go on (authorisation, inconsistent protocol, retries used up). */
  onFatal(error: Error): void;
}

export interface GroupPort {
  /** Joins and stays a member, with a heartbeat timer of its own, until `leave`. */
  join(handler: GroupHandler): void;
  readonly metadata: GroupMetadata;
  /**
   * Joins again. The group rebalances if this member leads it or its subscription (user data included)
   * has changed; otherwise it is handed the current assignment once more, in the same generation. False,
   * and nothing happens, before `join` and once the member has left or failed.
   */
  rejoin(reason: string): boolean;
  /** Throws TaskMigratedError when fenced, RebalanceInProgressError while the group rebalances. */
  commit(offsets: OffsetsToCommit): Promise<void>;
  committed(
    partitions: readonly TopicPartition[],
    options: { readonly requireStable: boolean },
  ): Promise<ReadonlyMap<TopicPartitionKey, OffsetAndMetadata>>;
  /**
   * Stops heartbeats and leaves the group; bounded by `timeoutMs`. A static member goes without a word,
   * so that its tasks wait for it until its session ends, unless it goes for good.
   */
  leave(timeoutMs: number, isForGood?: boolean): Promise<void>;
}

// ---------------------------------------------------------------------------------------- fetch

export type IsolationLevel = 'read_uncommitted' | 'read_committed';

export interface FetcherOptions {
  readonly isolationLevel: IsolationLevel;
  /** Longest wait of a parked fetch, ms. */
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly maxPartitionBytes: number;
  /**
   * The application's own topics. One that brokers have not known for half a minute, or that was made
   * anew, ends its partitions with a MissingTopicError; default none.
   */
  readonly internalTopics?: ReadonlySet<string>;
  /** Called when `drain` has something new: data, an error or an out-of-range position. */
  readonly onReady: () => void;
}

export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

/** One partition's part of a fetch response. */
export interface FetchedPartition {
  readonly topic: string;
  readonly partition: number;
  /** Raw record batches, undecoded, CRC unchecked; complete batches only. Empty when `error` is set. */
  readonly records: Buffer;
  /** Sorted by first offset; only with read_committed. */
  readonly abortedTransactions: readonly AbortedTransaction[];
  readonly highWatermark: bigint;
  readonly lastStableOffset: bigint;
  readonly logStartOffset: bigint;
  /**
   * Position after these records: the last batch's last offset + 1, also over empty batches; the end,
   * when a response found nothing between the position and the end.
   */
  readonly nextOffset: bigint;
  /**
   * What the records lie in. Whoever has no more use for any of its bytes may release it, once; left
   * alone, the garbage collector takes it. Null: nothing needs to be given back.
   */
  readonly memory?: SharedMemory | null;
  /** OffsetOutOfRange (reset policy decides) or a fatal error for this partition; retriable ones never show. */
  readonly error: Error | null;
}

export interface FetchPort {
  /** Adds partitions, or moves those already there; a newly added one waits for no parked fetch. */
  assign(positions: readonly (TopicPartition & { readonly offset: bigint })[]): void;
  unassign(partitions: readonly TopicPartition[]): void;
  /** A paused partition is left out of fetches; a response already under way is still handed over. */
  pause(topic: string, partition: number): void;
  resume(topic: string, partition: number): void;
  /**
   * From here on no fetch asks for more bytes of one partition than this, nor for more than it was made
   * for. A single batch that is larger still comes whole.
   */
  limitPartitions(maxBytes: number): void;
  /** Takes what has arrived since the last call, in arrival order; never waits. */
  drain(): FetchedPartition[];
  position(topic: string, partition: number): bigint;
  beginningOffsets(
    partitions: readonly TopicPartition[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>>;
  /** High watermark, or last stable offset under read_committed. */
  endOffsets(
    partitions: readonly TopicPartition[],
    isolationLevel: IsolationLevel,
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>>;
  /** The first offset whose record has the timestamp (epoch ms) or a later one; absent when there is none. */
  offsetsForTimestamps(
    partitions: readonly (TopicPartition & { readonly timestampMs: number })[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint>>;
  close(timeoutMs: number): Promise<void>;
}

// -------------------------------------------------------------------------------------- produce

export interface UndeliveredRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/** A batch that a broker refused for good, or that was not acknowledged in time (a TimeoutError). */
export interface UndeliveredBatch {
  readonly topic: string;
  readonly partition: number;
  readonly error: Error;
  readonly recordCount: number;
  /** To be read during the call only. */
  records(): Iterable<UndeliveredRecord>;
}

export interface AcknowledgedBatch {
  readonly topic: string;
  readonly partition: number;
  /** -1n: an earlier try had written it, and the broker does not remember where. */
  readonly baseOffset: bigint;
  readonly recordCount: number;
}

export interface ProducerOptions {
  readonly lingerMs: number;
  readonly batchBytes: number;
  /** What a batch may grow to while another of its partition waits to be sent; default 256 KiB. */
  readonly grownBatchBytes?: number;
  readonly bufferBytes: number;
  readonly requestTimeoutMs: number;
  readonly deliveryTimeoutMs: number;
  readonly compression: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  /** `leader` is Kafka's acks=1; default `all`. */
  readonly acks?: 'all' | 'leader';
  /** Larger records are refused, larger requests are split; default 1 MiB, as Kafka's `max.request.size`. */
  readonly maxRequestBytes?: number;
  /**
   * The application's own topics, which are never created by asking for them (auto.create.topics.enable).
   * What goes to one that brokers have not known for half a minute, or that was made anew, is given up
   * with a MissingTopicError; default none.
   */
  readonly internalTopics?: ReadonlySet<string>;
  /**
   * Asked when a batch is given up; what it returns is thrown by the next flush, null lets it go. Must
   * not throw. Without it every batch that is given up fails the flush with its error.
   */
  readonly onUndelivered?: (batch: UndeliveredBatch) => Error | null;
  /** Called for each batch that a broker has acknowledged. */
  readonly onAcknowledged?: (batch: AcknowledgedBatch) => void;
  /** Called when buffered bytes fall to half of `bufferBytes` after `isFull`. */
  readonly onDrained: () => void;
}

/** The open batch of one partition. Stable: ask once, keep it. */
export interface PartitionBuffer {
  /**
   * Encodes the record straight into the open batch; never waits. A negative timestamp is left to the
   * producer, which takes the time of the call. Throws RecordTooLargeError.
   */
  append<V>(
    timestamp: number,
    keySource: Buffer | null,
    keyStart: number,
    keyEnd: number,
    value: V | null,
    valueSerde: RecordSerde<V>,
    headers: RecordHeaders | null,
  ): void;
  /** Offset after the last acknowledged record of this producer; null before the first. */
  readonly ackedEndOffset: bigint | null;
  /** Encoded bytes of all records that were appended so far. */
  readonly appendedBytes: number;
}

export interface ProducerPort {
  /** From metadata; fails for a missing topic after `requestTimeoutMs`, naming it. At once where it is known. */
  partitionCount(topic: string): Promise<number> | number;
  partition(topic: string, partition: number): PartitionBuffer;
  /** Soft bound: appends still succeed, but the caller should process no further record until `onDrained`. */
  readonly isFull: boolean;
  /** Sends what is buffered now; resolves when all of it is acknowledged, throws the first failure. */
  flush(): Promise<void>;
  /** First delivery failure since the last flush, so that a thread notices without flushing. */
  readonly failure: Error | null;
  close(timeoutMs: number): Promise<void>;
}

// ----------------------------------------------------------------------------------- transactions

/** `acks` is always `all`. */
export interface TransactionalProducerOptions extends Omit<ProducerOptions, 'acks'> {
  /** Who initializes the same id later fences this producer. */
  readonly transactionalId: string;
  /**
   * `transaction.timeout.ms`: the coordinator aborts a transaction that is open for longer, and fences
   * its producer; default 60 s. No more than the brokers' `transaction.max.timeout.ms`.
   */
  readonly transactionTimeoutMs?: number;
  /**
   * `max.block.ms`: longest time of one call of `initTransactions`, `abortTransaction`, and of
   * `commitTransaction` after its flush, retries included; default 60 s.
   */
  readonly maxBlockMs?: number;
}

/**
 * A producer whose records become visible together, and together with the offsets of their sources
 * (KIP-98, KIP-447), to whoever reads committed records only.
 *
 * A transaction begins by itself with the first record. Appends need `initTransactions` first, and are
 * possible at any time but during an abort and after an error: those during a commit belong to the
 * transaction after it.
 *
 * An error ends the transaction, not only the call: what was not sent is dropped; `failure`, and every
 * later append, flush and commit, tell the same error until the transaction is aborted. It is
 *
 * - a TaskMigratedError, when the offsets' group has another generation or member by now, or when
 *   another producer has taken over;
 * - a TaskCorruptedError (state is not to be wiped), when the transaction cannot be committed or nobody
 *   knows whether it was: go back to the committed offsets;
 * - what `onUndelivered` returned, an AuthorizationError or a BrokerError, for which there is no remedy.
 *
 * After `abortTransaction` the next transaction may begin, unless `isFatal`.
 */
export interface TransactionalProducerPort extends ProducerPort {
  /**
   * Gets a producer id. Transactions of earlier producers with this id are ended first, and their
   * producers fenced. Once, before the first record.
   *
   * @throws TimeoutError after `maxBlockMs`, AuthorizationError: to be called again. TaskMigratedError,
   *   BrokerError, UnsupportedVersionError: `isFatal`
   */
  initTransactions(): Promise<void>;
  /**
   * Flushes, then commits records and offsets together. Sends nothing when there is neither. Where
   * `onUndelivered` appends records, flush first: during the commit they belong to the next transaction.
   *
   * Bounded by `deliveryTimeoutMs` and, from the flush on, `maxBlockMs`.
   *
   * @throws the transaction's error. Whether it was committed is known only after `abortTransaction`,
   *   from the group's offsets, if read with `requireStable`
   */
  commitTransaction(offsets: OffsetsToCommit, group: GroupMetadata): Promise<void>;
  /**
   * Drops what was not sent, waits for what is under way, and aborts. Once some request or batch was not
   * answered, the producer gets a new epoch as well (KIP-360), so that nothing late touches the next
   * transaction. Nothing happens if there is no transaction.
   *
   * @throws TimeoutError after `maxBlockMs`: to be called again. The fatal error, if there is one
   */
  abortTransaction(): Promise<void>;
  /** Nothing helps but another producer with the same transactional id. */
  readonly isFatal: boolean;
  /** Aborts an open transaction first, within `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

// ---------------------------------------------------------------------------------------- admin

export interface TopicDescription {
  readonly topic: string;
  /** Kafka's, which a topic that is created anew does not share; null if the brokers have none (before 2.8). */
  readonly topicId: string | null;
  readonly partitionCount: number;
}

export interface NewTopic {
  readonly topic: string;
  readonly partitionCount: number;
  /** -1: the broker's default. */
  readonly replicationFactor: number;
  readonly config: ReadonlyMap<string, string>;
}

export interface AdminPort {
  /** Missing topics are absent from the answer. */
  describeTopics(topics: readonly string[]): Promise<ReadonlyMap<string, TopicDescription>>;
  /** Names of all topics that this client may see, without the cluster's internal ones. */
  listTopics(): Promise<readonly string[]>;
  /** An existing topic is no error. */
  createTopics(topics: readonly NewTopic[]): Promise<void>;
  /** Per partition: the new low watermark, or an error; one partition's failure touches no other. */
  deleteRecords(
    offsets: readonly (TopicPartition & { readonly offset: bigint })[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint | Error>>;
  describeTopicConfigs(topic: string): Promise<ReadonlyMap<string, string>>;
}
