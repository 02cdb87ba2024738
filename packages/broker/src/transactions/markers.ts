import type { Clock, Log } from '@millrace/compaction';
import { encodeControlBatch } from '@millrace/protocol';
import { CONSUMER_OFFSETS_TOPIC } from '../topics/topic.ts';

/** What is written into every partition of a transaction when its outcome is decided. */
export interface Marker {
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly coordinatorEpoch: number;
  readonly isCommit: boolean;
}

interface MarkedPartition {
  readonly leaderEpoch: number;
  readonly log: Pick<Log, 'appendAsLeader' | 'flushIfDue'>;
}

/** Where markers go. */
export interface MarkedTopics {
  partition(topic: string, index: number): MarkedPartition | undefined;
}

/** Who keeps offsets that wait for the outcome of a transaction. */
export interface PendingOffsets {
  completeTransaction(producerId: bigint, offsetsPartition: number, isCommit: boolean): void;
}

export interface MarkerOutcome {
  /** False: there is no such partition, perhaps any more. */
  readonly isThere: boolean;
  /** Set when flush.messages has been reached: the marker is durable once it resolves. */
  readonly flushed: Promise<void> | undefined;
}

/** Ends transactions in their partitions (KIP-98). */
export class MarkerWriter {
  readonly #topics: MarkedTopics;
  readonly #offsets: PendingOffsets;
  readonly #clock: Clock;

  constructor(topics: MarkedTopics, offsets: PendingOffsets, clock: Clock) {
    this.#topics = topics;
    this.#offsets = offsets;
    this.#clock = clock;
  }

  /**
   * In `__consumer_offsets` the offsets of the transaction count, or are dropped, together with the
   * marker. Throws what the log throws.
   */
  write(topic: string, index: number, marker: Marker): MarkerOutcome {
    const partition = this.#topics.partition(topic, index);
    if (partition === undefined) return { isThere: false, flushed: undefined };
    const { log, leaderEpoch } = partition;
    const { producerId, producerEpoch, coordinatorEpoch, isCommit } = marker;
    const batch = encodeControlBatch({
      baseOffset: 0n,
      producerId,
      producerEpoch,
      type: isCommit ? 'commit' : 'abort',
      coordinatorEpoch,
      timestamp: this.#clock.now(),
      leaderEpoch,
    });
    log.appendAsLeader(batch, { leaderEpoch, origin: 'coordinator' });
    if (topic === CONSUMER_OFFSETS_TOPIC) {
      this.#offsets.completeTransaction(producerId, index, isCommit);
    }
    return { isThere: true, flushed: log.flushIfDue() };
  }
}
