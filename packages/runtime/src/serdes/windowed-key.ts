/** A key in a window, `[start, end)` in epoch ms. */
export class Windowed<K> {
  readonly key: K;
  readonly start: number;
  readonly end: number;

  constructor(key: K, start: number, end: number) {
    this.key = key;
    this.start = start;
    this.end = end;
  }

  toString(): string {
    return `[${String(this.key)}@${String(this.start)}/${String(this.end)}]`;
  }
}
