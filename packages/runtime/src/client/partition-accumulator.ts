import type { RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../serdes/serde.ts';
import type { PartitionBuffer } from './ports.ts';
import type { ProduceBatch, ProducerIdentity } from './produce-batch.ts';

/** What a partition's buffer asks of its producer. */
export interface AccumulatorOwner {
  /** What a batch is closed at as soon as it could be sent. */
  readonly batchBytes: number;
  /** What it may grow to while another of its partition waits to be sent. */
  readonly grownBatchBytes: number;
  readonly maxRequestBytes: number;
  /** Wall clock, epoch ms. */
  nowMs(): number;
  openBatch(accumulator: PartitionAccumulator): ProduceBatch;
  closeBatch(accumulator: PartitionAccumulator): void;
  addBuffered(batch: ProduceBatch, bytes: number): void;
  /** Takes back an open batch into which nothing went; returns the error to throw. */
  refuse(accumulator: PartitionAccumulator, bytes: number): Error;
}

/** The batches of one partition: the open one, those that wait, those under way. */
export class PartitionAccumulator implements PartitionBuffer {
  readonly topic: string;
  readonly partition: number;
  readonly #owner: AccumulatorOwner;
  open: ProduceBatch | null = null;
  /** Closed and not under way, in the order of their records. */
  readonly queue: ProduceBatch[] = [];
  /** Under way, in the order of their records. */
  readonly inFlight: ProduceBatch[] = [];
  nextOrdinal = 0;
  identity: ProducerIdentity | null = null;
  nextSequence = 0;
  /** After the last acknowledged batch of this identity. */
  ackedSequence = 0;
  /**
   * A broker that knows nothing of this identity takes any sequence. So nothing goes beside the first
   * batch: were that refused for a moment, those behind it would be written before it.
   */
  isIdentityKnown = false;
  /** The next batch that was never sent must go under another producer id. */
  mustRenew = false;
  /** In a transaction a batch was refused and let go: the next one takes its sequence. */
  mustRewind = false;
  /** A batch that was sent before is under way again; nothing else may be, until it is done. */
  isRetrying = false;
  /** Monotonic ms; nothing is sent before. */
  retryAt = -Infinity;
  /** False once the broker has refused a batch for its size. */
  mayGrow = true;
  /** As metadata of `metadataVersion` had it; -1: no leader. */
  leader = -1;
  metadataVersion = -1;
  ackedEndOffset: bigint | null = null;
  appendedBytes = 0;

  constructor(topic: string, partition: number, owner: AccumulatorOwner) {
    this.topic = topic;
    this.partition = partition;
    this.#owner = owner;
  }

  append<V>(
    timestamp: number,
    keySource: Buffer | null,
    keyStart: number,
    keyEnd: number,
    value: V | null,
    valueSerde: RecordSerde<V>,
    headers: RecordHeaders | null,
  ): void {
    const owner = this.#owner;
    const time = timestamp < 0 ? owner.nowMs() : timestamp;
    let batch = this.open ?? owner.openBatch(this);
    let builder = batch.builder as NonNullable<ProduceBatch['builder']>;
    let before = builder.sizeInBytes;
    if (!builder.append(time, keySource, keyStart, keyEnd, value, valueSerde, headers)) {
      owner.closeBatch(this);
      batch = owner.openBatch(this);
      builder = batch.builder as NonNullable<ProduceBatch['builder']>;
      before = builder.sizeInBytes;
      builder.append(time, keySource, keyStart, keyEnd, value, valueSerde, headers);
    }
    const size = builder.sizeInBytes;
    // Only a first record may be larger than a request.
    if (size > owner.maxRequestBytes) throw owner.refuse(this, size);
    owner.addBuffered(batch, size - before);
    this.appendedBytes += size - before;
    // Closed when another record like this one would be too much.
    if (this.isDue(size + size - before)) owner.closeBatch(this);
  }

  /**
   * Whether an open batch of this size should be closed. At `batch.size` it is, but not while another
   * batch waits: closed it would only wait behind it, and many small batches cost broker and client
   * more than a few large ones.
   */
  isDue(size: number): boolean {
    const { batchBytes, grownBatchBytes } = this.#owner;
    return size > (this.mayGrow && this.queue.length > 0 ? grownBatchBytes : batchBytes);
  }

  /** The batch whose records come first among those that are not acknowledged. */
  get firstUnresolved(): ProduceBatch | undefined {
    const [queued] = this.queue;
    const [sent] = this.inFlight;
    if (queued === undefined || sent === undefined) return queued ?? sent;
    return queued.ordinal < sent.ordinal ? queued : sent;
  }

  /** Puts a batch back where its records belong. */
  requeue(batch: ProduceBatch): void {
    let index = 0;
    while (index < this.queue.length && (this.queue[index]?.ordinal ?? Infinity) < batch.ordinal) {
      index++;
    }
    this.queue.splice(index, 0, batch);
  }
}
