/** Timestamps of the records that a node had since somebody last asked. */
export class RecordTimes {
  #count = 0;
  #sum = 0;
  #min = Infinity;
  #max = -Infinity;

  add(timestamp: number): void {
    this.#count++;
    this.#sum += timestamp;
    if (timestamp < this.#min) this.#min = timestamp;
    if (timestamp > this.#max) this.#max = timestamp;
  }

  /** Hands out what there is, if anything, and forgets it. */
  take(take: (count: number, sum: number, min: number, max: number) => void): void {
    if (this.#count === 0) return;
    take(this.#count, this.#sum, this.#min, this.#max);
    this.#count = 0;
    this.#sum = 0;
    this.#min = Infinity;
    this.#max = -Infinity;
  }
}
