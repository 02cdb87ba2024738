/** From which offset on a leader epoch wrote. */
export interface LeaderEpochEntry {
  readonly epoch: number;
  readonly startOffset: bigint;
}

/** No such epoch: Kafka's answer to what it cannot tell. */
const UNDEFINED_EPOCH = -1;

/** The leader epochs of one log, both columns strictly rising (KIP-101, KIP-279). */
export class LeaderEpochs {
  #entries: LeaderEpochEntry[];
  /** Called with the entries after each change; they go to `leader-epoch-checkpoint`. */
  readonly #onChange: (entries: readonly LeaderEpochEntry[]) => void;

  constructor(
    entries: readonly LeaderEpochEntry[],
    onChange: (entries: readonly LeaderEpochEntry[]) => void,
  ) {
    this.#entries = [...entries];
    this.#onChange = onChange;
  }

  get entries(): readonly LeaderEpochEntry[] {
    return this.#entries;
  }

  /** -1: none yet. */
  get latest(): number {
    return this.#entries.at(-1)?.epoch ?? UNDEFINED_EPOCH;
  }

  /** Records that `epoch` writes from `startOffset` on; whatever contradicts that goes. */
  assign(epoch: number, startOffset: bigint): void {
    if (epoch < 0) return;
    const last = this.#entries.at(-1);
    if (last?.epoch === epoch && startOffset >= last.startOffset) return;
    this.#change([
      ...this.#entries.filter((one) => one.epoch < epoch && one.startOffset < startOffset),
      { epoch, startOffset },
    ]);
  }

  /** The epoch that wrote `offset`; -1: not known. */
  epochOf(offset: bigint): number {
    return this.#entries.findLast((one) => one.startOffset <= offset)?.epoch ?? UNDEFINED_EPOCH;
  }

  /**
   * Where the requested epoch ended: the largest known epoch at most it, and the start of the one
   * after. (-1, -1) when nothing is known of it, as OffsetForLeaderEpoch answers.
   */
  endOffsetOf(epoch: number, logEndOffset: bigint): { epoch: number; endOffset: bigint } {
    const undefinedAnswer = { epoch: UNDEFINED_EPOCH, endOffset: -1n };
    if (epoch === UNDEFINED_EPOCH) return undefinedAnswer;
    if (epoch === this.latest) return { epoch, endOffset: logEndOffset };
    const next = this.#entries.find((one) => one.epoch > epoch);
    if (!next) return undefinedAnswer;
    const floor = this.#entries.findLast((one) => one.epoch <= epoch);
    return { epoch: floor?.epoch ?? epoch, endOffset: next.startOffset };
  }

  /** The log now ends at `endOffset`. */
  truncateFromEnd(endOffset: bigint): void {
    const kept = this.#entries.filter((one) => one.startOffset < endOffset);
    if (kept.length < this.#entries.length) this.#change(kept);
  }

  /** The log now starts at `startOffset`; the epoch that covers it starts there. */
  truncateFromStart(startOffset: bigint): void {
    const covering = this.#entries.findLast((one) => one.startOffset <= startOffset);
    if (!covering || (covering === this.#entries[0] && covering.startOffset === startOffset))
      return;
    this.#change([
      { epoch: covering.epoch, startOffset },
      ...this.#entries.filter((one) => one.startOffset > startOffset),
    ]);
  }

  clear(): void {
    if (this.#entries.length > 0) this.#change([]);
  }

  #change(entries: LeaderEpochEntry[]): void {
    this.#onChange(entries);
    this.#entries = entries;
  }
}
