import type { GroupMetadata, OffsetsToCommit } from '../client/ports.ts';
import { TaskMigratedError } from '../errors.ts';
import type { FakeGroup } from './fake-group.ts';
import type { FakeLog } from './fake-log.ts';

/** What transactions touch of a fake cluster. */
interface TransactedCluster {
  log(topic: string, partition: number): FakeLog;
  changed(topic: string, partition: number): void;
  group(groupId: string): FakeGroup;
}

export interface FakeProducerIdentity {
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

interface Entry {
  readonly producerId: bigint;
  producerEpoch: number;
  /** `topic` and partition of what was written in the transaction that is open. */
  readonly partitions: Map<string, { readonly topic: string; readonly partition: number }>;
  readonly offsets: { readonly groupId: string; readonly offsets: OffsetsToCommit }[];
}

/** A transaction coordinator in memory, shared by the fake clients of one test. */
export class FakeTransactions {
  readonly #cluster: TransactedCluster;
  readonly #entries = new Map<string, Entry>();
  #nextProducerId = 1000n;
  commitCount = 0;
  abortCount = 0;

  constructor(cluster: TransactedCluster) {
    this.#cluster = cluster;
  }

  /** A new epoch: what the one before has open is aborted, and its producer fenced. */
  init(transactionalId: string): FakeProducerIdentity {
    const known = this.#entries.get(transactionalId);
    const entry: Entry = known ?? {
      producerId: this.#nextProducerId++,
      producerEpoch: -1,
      partitions: new Map(),
      offsets: [],
    };
    if (known !== undefined) this.#end(entry, false);
    entry.producerEpoch++;
    this.#entries.set(transactionalId, entry);
    return { producerId: entry.producerId, producerEpoch: entry.producerEpoch };
  }

  /** Appends a batch to the producer's transaction; returns its base offset. */
  append(
    transactionalId: string,
    identity: FakeProducerIdentity,
    topic: string,
    partition: number,
    batch: Buffer,
  ): bigint {
    const entry = this.#checked(transactionalId, identity);
    entry.partitions.set(`${topic}-${String(partition)}`, { topic, partition });
    return this.#cluster.log(topic, partition).append(batch);
  }

  addOffsets(
    transactionalId: string,
    identity: FakeProducerIdentity,
    offsets: OffsetsToCommit,
    { groupId, generation, memberId }: GroupMetadata,
  ): void {
    const entry = this.#checked(transactionalId, identity);
    const group = this.#cluster.group(groupId);
    // As the coordinator has it: who says that it is no member at all is not fenced.
    const isNoMember = generation < 0 && memberId === '';
    if (!isNoMember && (!group.isMember(memberId) || group.generation !== generation)) {
      throw new TaskMigratedError(`${memberId} is no member of generation ${String(generation)}`);
    }
    entry.offsets.push({ groupId, offsets });
  }

  end(transactionalId: string, identity: FakeProducerIdentity, isCommit: boolean): void {
    this.#end(this.#checked(transactionalId, identity), isCommit);
  }

  isCurrent(transactionalId: string, { producerEpoch }: FakeProducerIdentity): boolean {
    return this.#entries.get(transactionalId)?.producerEpoch === producerEpoch;
  }

  #end(entry: Entry, isCommit: boolean): void {
    if (entry.partitions.size === 0 && entry.offsets.length === 0) return;
    if (isCommit) this.commitCount++;
    else this.abortCount++;
    for (const { topic, partition } of entry.partitions.values()) {
      this.#cluster
        .log(topic, partition)
        .endTransaction(entry.producerId, entry.producerEpoch, isCommit);
      this.#cluster.changed(topic, partition);
    }
    for (const { groupId, offsets } of entry.offsets) {
      if (!isCommit) continue;
      const group = this.#cluster.group(groupId);
      group.commitCount++;
      for (const [key, { offset, metadata }] of offsets)
        group.offsets.set(key, { offset, metadata });
    }
    entry.partitions.clear();
    entry.offsets.length = 0;
  }

  #checked(transactionalId: string, { producerEpoch }: FakeProducerIdentity): Entry {
    const entry = this.#entries.get(transactionalId);
    if (entry === undefined) throw new Error(`${transactionalId} has not been initialized`);
    if (entry.producerEpoch !== producerEpoch) {
      throw new TaskMigratedError(`another producer has taken over ${transactionalId}`);
    }
    return entry;
  }
}
