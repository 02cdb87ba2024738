/**
 * The keys of a hash table in the order of their bytes, as latin1 strings: made when a range is asked for
 * first and brought up to date at the next ask. A walk under way keeps the array that it began with.
 */
export class SortedKeys {
  readonly #all: () => Iterable<string>;
  readonly #has: (key: string) => boolean;
  #sorted: readonly string[] | null = null;
  #added: string[] = [];
  #isAnyRemoved = false;

  constructor(all: () => Iterable<string>, has: (key: string) => boolean) {
    this.#all = all;
    this.#has = has;
  }

  /** Whether `added` and `removed` must be told. */
  get isKept(): boolean {
    return this.#sorted !== null;
  }

  added(key: string): void {
    this.#added.push(key);
  }

  removed(): void {
    this.#isAnyRemoved = true;
  }

  clear(): void {
    this.#sorted = null;
    this.#added = [];
    this.#isAnyRemoved = false;
  }

  keys(): readonly string[] {
    if (this.#sorted === null) {
      this.#sorted = [...this.#all()].sort();
    } else if (this.#added.length > 0 || this.#isAnyRemoved) {
      this.#sorted = this.#merged(this.#sorted, this.#added.sort());
    }
    this.#added = [];
    this.#isAnyRemoved = false;
    return this.#sorted;
  }

  /** A key that went and came again is in both. */
  #merged(left: readonly string[], right: readonly string[]): string[] {
    const merged: string[] = [];
    const add = (key: string): void => {
      if (key === merged.at(-1) || (this.#isAnyRemoved && !this.#has(key))) return;
      merged.push(key);
    };
    let r = 0;
    for (const key of left) {
      while (r < right.length && (right[r] as string) < key) add(right[r++] as string);
      add(key);
    }
    while (r < right.length) add(right[r++] as string);
    return merged;
  }
}
