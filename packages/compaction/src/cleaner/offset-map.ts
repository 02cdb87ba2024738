import type { Random } from '../platform/random.ts';
import { ConfigError } from '../errors.ts';
import { MAX_OFFSET_MAP_BYTES, OFFSET_MAP_SLOT_BYTES } from '../limits.ts';
import { KeyHash } from './key-hash.ts';

/** Int32s of a slot: four of the hash, two of the offset. */
const SLOT_WORDS = OFFSET_MAP_SLOT_BYTES / 4;

/**
 * For each key of the dirty section the highest offset at which it appears, in memory of a fixed
 * size: 24 bytes a slot, no deletes. A key stands for itself by its 128-bit hash; equal hashes are
 * taken for equal keys.
 *
 * Offsets come as two 32-bit halves (the upper one signed), so that all of int64 is exact without a BigInt per record.
 */
export class OffsetMap {
  readonly slotCount: number;
  /** Keys that may be put: the share `log.cleaner.io.buffer.load.factor` of the slots. */
  readonly maxKeyCount: number;
  #keyCount = 0;
  readonly #slots: Int32Array;
  readonly #hash: KeyHash;

  /** @throws ConfigError when the memory holds less than two keys: cleaning would never get on. */
  constructor(bytes: number, loadFactor: number, random: Random) {
    this.slotCount = Math.floor(Math.min(bytes, MAX_OFFSET_MAP_BYTES) / OFFSET_MAP_SLOT_BYTES);
    this.maxKeyCount = Math.min(this.slotCount, Math.floor(this.slotCount * loadFactor));
    if (this.slotCount * loadFactor <= 1) {
      throw new ConfigError([
        `log.cleaner.dedupe.buffer.size: ${String(bytes)} bytes per thread hold no key; ` +
          `give it more, or log.cleaner.threads less`,
      ]);
    }
    // One more stays empty whatever the load factor: a search for an unknown key ends there.
    this.#slots = new Int32Array((this.slotCount + 1) * SLOT_WORDS);
    this.#hash = KeyHash.random(random);
  }

  get keyCount(): number {
    return this.#keyCount;
  }

  /** Of all slots, those in use: 0 to 1. */
  get utilization(): number {
    return this.#keyCount / this.slotCount;
  }

  get isFull(): boolean {
    return this.#keyCount >= this.maxKeyCount;
  }

  clear(): void {
    if (this.#keyCount > 0) this.#slots.fill(0);
    this.#keyCount = 0;
  }

  /** The key source[start, end) appears at this offset, which is higher than all before. */
  put(source: Uint8Array, start: number, end: number, offsetHigh: number, offsetLow: number): void {
    const slots = this.#slots;
    const at = this.#find(source, start, end);
    const hash = this.#hash;
    if (slots[at] === 0) {
      slots[at] = hash.h0 === 0 ? 1 : hash.h0;
      slots[at + 1] = hash.h1;
      slots[at + 2] = hash.h2;
      slots[at + 3] = hash.h3;
      this.#keyCount++;
    }
    slots[at + 4] = offsetHigh;
    slots[at + 5] = offsetLow;
  }

  /** Whether the map knows of no higher offset of the key. */
  isLatest(
    source: Uint8Array,
    start: number,
    end: number,
    offsetHigh: number,
    offsetLow: number,
  ): boolean {
    const slots = this.#slots;
    const at = this.#find(source, start, end);
    if (slots[at] === 0) return true;
    const high = slots[at + 4] as number;
    return offsetHigh === high
      ? offsetLow >>> 0 >= (slots[at + 5] as number) >>> 0
      : offsetHigh > high;
  }

  /**
   * Where the key's slot starts, or the empty one that it would take: there always is one. Slots are tried one after another: near its limit the
   * map has long runs, but they lie side by side in memory.
   */
  #find(source: Uint8Array, start: number, end: number): number {
    const hash = this.#hash;
    hash.hash(source, start, end);
    // Zero marks an empty slot.
    const h0 = hash.h0 === 0 ? 1 : hash.h0;
    const { h1, h2, h3 } = hash;
    const slots = this.#slots;
    const length = slots.length;
    let at = ((h0 >>> 0) % (this.slotCount + 1)) * SLOT_WORDS;
    for (;;) {
      const found = slots[at] as number;
      if (
        found === 0 ||
        (found === h0 && slots[at + 1] === h1 && slots[at + 2] === h2 && slots[at + 3] === h3)
      ) {
        return at;
      }
      at += SLOT_WORDS;
      if (at === length) at = 0;
    }
  }
}
