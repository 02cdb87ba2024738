const NEWLINE = 0x0a;

/** Cuts a byte stream into lines of bounded length. */
export class LineReader {
  readonly #maxBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that are complete with this chunk. Throws RangeError for one above the bound. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      const piece = chunk.subarray(start, end < 0 ? chunk.length : end);
      if (this.#pendingBytes + piece.length > this.#maxBytes) {
        throw new RangeError(`a line is longer than ${this.#maxBytes} bytes`);
      }
      this.#pending.push(piece);
      this.#pendingBytes += piece.length;
      if (end < 0) return lines;
      lines.push(Buffer.concat(this.#pending).toString('utf8'));
      this.#pending = [];
      this.#pendingBytes = 0;
      start = end + 1;
    }
  }
}

/** JSON in one line; bigints (offsets) become strings. */
export function toJsonLine(value: unknown): string {
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'bigint' ? item.toString() : item,
  );
  return `${text}\n`;
}
