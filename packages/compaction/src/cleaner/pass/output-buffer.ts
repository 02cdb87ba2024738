/** Bytes on their way to a file: filled from the front, made larger when one batch needs it. */
export class OutputBuffer {
  bytes: Buffer;
  length = 0;
  readonly #usualBytes: number;

  constructor(usualBytes: number) {
    this.#usualBytes = usualBytes;
    this.bytes = Buffer.allocUnsafeSlow(usualBytes);
  }

  get isFull(): boolean {
    return this.length >= this.#usualBytes;
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#usualBytes * 2));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  /** Lets go of the first `count` bytes, and of memory that an unusually large batch took. */
  consume(count: number): void {
    this.bytes.copyWithin(0, count, this.length);
    this.length -= count;
    if (this.length === 0 && this.bytes.length > this.#usualBytes * 2) {
      this.bytes = Buffer.allocUnsafeSlow(this.#usualBytes);
    }
  }
}
