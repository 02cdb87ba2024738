/**
 * The task's stream time: the highest timestamp of the records that it has taken (epoch ms; -1 before
 * the first). Late records never move it back. Operators that need a stream time of their own keep it
 * themselves; this one serves punctuation and whoever asks the context.
 */
export class StreamTime {
  #current = -1;

  get current(): number {
    return this.#current;
  }

  /** True if time went on. */
  advance(timestamp: number): boolean {
    if (timestamp <= this.#current) return false;
    this.#current = timestamp;
    return true;
  }
}
