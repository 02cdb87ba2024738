import { ARENA_CHUNK_BYTES } from '../limits.ts';

/** Writes a row's value and timestamp at a position; returns the end, or -1 if they do not fit. */
export interface RowWriter {
  write(stored: unknown, timestamp: number, target: Buffer, position: number): number;
}

/** Memory for many values that are done with together. */
export class Arena {
  readonly #chunks: Buffer[] = [];
  #current = 0;
  #position = 0;

  /** What was written, in memory that stays until `reset`. */
  write(writer: RowWriter, stored: unknown, timestamp: number): Buffer {
    for (;;) {
      const chunk = (this.#chunks[this.#current] ??= Buffer.allocUnsafeSlow(ARENA_CHUNK_BYTES));
      const end = writer.write(stored, timestamp, chunk, this.#position);
      if (end >= 0) {
        const written = chunk.subarray(this.#position, end);
        this.#position = end;
        return written;
      }
      if (this.#position === 0) {
        this.#chunks[this.#current] = Buffer.allocUnsafeSlow(chunk.length * 2);
      } else {
        this.#current++;
        this.#position = 0;
      }
    }
  }

  /** All of it may be used again; a chunk that was made for a large value is let go. */
  reset(): void {
    this.#chunks.length = Math.min(this.#chunks.length, 1);
    if ((this.#chunks[0]?.length ?? 0) > ARENA_CHUNK_BYTES) this.#chunks.length = 0;
    this.#current = 0;
    this.#position = 0;
  }
}
