/** One committed offset as its record has it. Times in epoch ms. */
export interface CommittedOffset {
  readonly offset: bigint;
  /** -1: the client gave none. */
  readonly leaderEpoch: number;
  readonly metadata: string;
  readonly commitTimestamp: number;
  /** Set by the retention time of OffsetCommit v2-4; -1: the broker's retention counts. */
  readonly expireTimestamp: number;
  readonly topicId: string;
  /** Where its record stands in `__consumer_offsets`: the newer of two commits is the higher one. */
  readonly logOffset: bigint;
}

/** The offsets of one group, by topic and partition. */
export class GroupOffsets {
  readonly #topics = new Map<string, Map<number, CommittedOffset>>();

  get isEmpty(): boolean {
    return this.#topics.size === 0;
  }

  get(topic: string, partition: number): CommittedOffset | undefined {
    return this.#topics.get(topic)?.get(partition);
  }

  set(topic: string, partition: number, committed: CommittedOffset): void {
    let partitions = this.#topics.get(topic);
    if (partitions === undefined)
      this.#topics.set(topic, (partitions = new Map<number, CommittedOffset>()));
    partitions.set(partition, committed);
  }

  delete(topic: string, partition: number): void {
    const partitions = this.#topics.get(topic);
    partitions?.delete(partition);
    if (partitions?.size === 0) this.#topics.delete(topic);
  }

  topics(): Iterable<[string, ReadonlyMap<number, CommittedOffset>]> {
    return this.#topics;
  }

  partitionsOf(topic: string): ReadonlyMap<number, CommittedOffset> | undefined {
    return this.#topics.get(topic);
  }

  *partitions(): Generator<[string, number, CommittedOffset]> {
    for (const [topic, partitions] of this.#topics) {
      for (const [partition, committed] of partitions) yield [topic, partition, committed];
    }
  }
}

/**
 * Committed offsets of all groups, and those of open transactions, which count only once their
 * transaction's marker says commit.
 */
export class OffsetStore {
  readonly #committed = new Map<string, GroupOffsets>();
  readonly #pending = new Map<bigint, Map<string, GroupOffsets>>();
  readonly #openTransactions = new Map<string, Set<bigint>>();

  groupIds(): Iterable<string> {
    return this.#committed.keys();
  }

  ofGroup(groupId: string): GroupOffsets | undefined {
    return this.#committed.get(groupId);
  }

  commit(groupId: string, topic: string, partition: number, committed: CommittedOffset): void {
    let offsets = this.#committed.get(groupId);
    if (offsets === undefined) this.#committed.set(groupId, (offsets = new GroupOffsets()));
    offsets.set(topic, partition, committed);
  }

  /** A tombstone ends the transactions' commits of that partition, too. */
  remove(groupId: string, topic: string, partition: number): void {
    const offsets = this.#committed.get(groupId);
    offsets?.delete(topic, partition);
    if (offsets?.isEmpty === true) this.#committed.delete(groupId);
    for (const producerId of [...(this.#openTransactions.get(groupId) ?? [])]) {
      const pending = this.#pending.get(producerId)?.get(groupId);
      pending?.delete(topic, partition);
      if (pending?.isEmpty === true) this.#forget(producerId, groupId);
    }
  }

  // --- transactions ------------------------------------------------------------------------------

  commitInTransaction(
    producerId: bigint,
    groupId: string,
    topic: string,
    partition: number,
    committed: CommittedOffset,
  ): void {
    let groups = this.#pending.get(producerId);
    if (groups === undefined)
      this.#pending.set(producerId, (groups = new Map<string, GroupOffsets>()));
    let offsets = groups.get(groupId);
    if (offsets === undefined) groups.set(groupId, (offsets = new GroupOffsets()));
    offsets.set(topic, partition, committed);
    let open = this.#openTransactions.get(groupId);
    if (open === undefined) this.#openTransactions.set(groupId, (open = new Set<bigint>()));
    open.add(producerId);
  }

  /**
   * A marker was written or read in a partition of `__consumer_offsets`: what was pending in the groups of
   * that partition counts, unless a later commit has overtaken it, or is dropped.
   */
  endTransaction(
    producerId: bigint,
    isCommit: boolean,
    isInPartition: (groupId: string) => boolean,
  ): void {
    for (const [groupId, offsets] of [...(this.#pending.get(producerId) ?? [])]) {
      if (!isInPartition(groupId)) continue;
      this.#forget(producerId, groupId);
      if (!isCommit) continue;
      for (const [topic, partition, committed] of offsets.partitions()) {
        const current = this.#committed.get(groupId)?.get(topic, partition);
        if (current === undefined || committed.logOffset > current.logOffset) {
          this.commit(groupId, topic, partition, committed);
        }
      }
    }
  }

  #forget(producerId: bigint, groupId: string): void {
    const groups = this.#pending.get(producerId);
    groups?.delete(groupId);
    if (groups?.size === 0) this.#pending.delete(producerId);
    const open = this.#openTransactions.get(groupId);
    open?.delete(producerId);
    if (open?.size === 0) this.#openTransactions.delete(groupId);
  }

  /** Groups with an open transaction, whether or not they have committed offsets. */
  groupIdsInTransaction(): Iterable<string> {
    return this.#openTransactions.keys();
  }

  hasOpenTransaction(groupId: string): boolean {
    return this.#openTransactions.has(groupId);
  }

  hasPending(groupId: string, topic: string, partition: number): boolean {
    return this.#pendingOf(groupId).some((pending) => pending.get(topic, partition) !== undefined);
  }

  /** All partitions of a group that have an offset, committed or pending; each once. */
  partitionsOf(groupId: string): { readonly topic: string; readonly partition: number }[] {
    const found = new Map<string, { topic: string; partition: number }>();
    const committed = this.#committed.get(groupId);
    for (const offsets of [...(committed ? [committed] : []), ...this.#pendingOf(groupId)]) {
      for (const [topic, partition] of offsets.partitions()) {
        found.set(`${topic}-${partition}`, { topic, partition });
      }
    }
    return [...found.values()];
  }

  #pendingOf(groupId: string): GroupOffsets[] {
    const found: GroupOffsets[] = [];
    for (const producerId of this.#openTransactions.get(groupId) ?? []) {
      const pending = this.#pending.get(producerId)?.get(groupId);
      if (pending !== undefined) found.push(pending);
    }
    return found;
  }
}
