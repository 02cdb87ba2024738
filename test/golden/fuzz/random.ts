/** Random numbers from a seed (mulberry32): the same seed gives the same cases everywhere. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    // Seeds that are close to each other have streams that are not.
    for (let i = 0; i < 8; i++) this.#next();
  }

  /** From 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor(this.#next() * below);
  }

  /** True once in so many times. */
  oneIn(n: number): boolean {
    return this.int(n) === 0;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(from.length)] as T;
  }

  /** One of the keys, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.int(entries.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    throw new Error('no weights');
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}
