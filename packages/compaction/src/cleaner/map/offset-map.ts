import type { Random } from '../../platform/random.ts';
import { ConfigError } from '../../errors.ts';
import { MAX_OFFSET_MAP_BYTES, OFFSET_MAP_SLOT_BYTES, PUTS_WAITING_MAX } from '../../limits.ts';
import { KeyHash } from './key-hash.ts';
import { LatestOffsets } from './latest-offsets.ts';

/** Int32s of a slot: four of the hash, two of the offset. */
const SLOT_WORDS = OFFSET_MAP_SLOT_BYTES / 4;
const TWO_32 = 2 ** 32;
/** By what a crowded map takes more of its memory. */
const GROWTH = 8;
/** Keys per slot at which it is crowded. */
const CROWDED = 0.75;
/** It begins with the least that leads to all of it in whole steps, but not with less than this. */
const MIN_SLOTS = 4_096;

/**
 * For each key of the dirty section the highest offset at which it appears, in memory of a fixed
 * size, of which as much is used as the keys need: the less it is, the more of it is in the
 * processor's caches. 24 bytes a slot, no deletes. A key stands for itself by its 128-bit hash; equal hashes are
 * taken for equal keys.
 *
 * Offsets come as two 32-bit halves (the upper one signed), so that all of int64 is exact without a BigInt per record.
 */
export class OffsetMap {
  readonly slotCount: number;
  /** Keys that may be put: the share `log.cleaner.io.buffer.load.factor` of the slots. */
  readonly maxKeyCount: number;
  readonly #latest = new LatestOffsets();
  #keyCount = 0;
  /**
   * What was put and is not in its slot yet, as slots: a slot is mostly in memory that no cache has, and the
   * processor waits for those of all of them together about as long as for one.
   */
  readonly #waiting = new Int32Array(PUTS_WAITING_MAX * SLOT_WORDS);
  #waitingWords = 0;
  /** Slots that are in use, so far; those behind them are empty. */
  #usedSlots = 0;
  /** Of those in use, and the empty one behind them, per value that the hash's first word can have. */
  #slotsPerHash = 0;
  /** So many are in use at most before all of them are. */
  readonly #fewSlots: number;
  readonly #spare: Buffer;
  #isSpareTaken = false;
  /** The key count at which more of them are. */
  #growAt = 0;
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
    this.#fewSlots = Math.ceil(this.slotCount / GROWTH);
    const usedBytes = (this.#fewSlots + 1) * OFFSET_MAP_SLOT_BYTES;
    this.#spare = Buffer.from(
      this.#slots.buffer,
      Math.min(usedBytes, this.#slots.byteLength),
      Math.max(0, this.#slots.byteLength - usedBytes),
    );
    this.#useFirstSlots();
  }

  #useFirstSlots(): void {
    let slots = this.slotCount;
    // Rounded up, so that the last step ends with all of them and starts with an eighth.
    while (slots / GROWTH >= MIN_SLOTS) slots = Math.ceil(slots / GROWTH);
    this.#use(slots);
  }

  #use(slots: number): void {
    this.#usedSlots = Math.min(this.slotCount, slots);
    this.#slotsPerHash = (this.#usedSlots + 1) / TWO_32;
    this.#growAt =
      this.#usedSlots < this.slotCount ? Math.floor(this.#usedSlots * CROWDED) : Infinity;
  }

  get keyCount(): number {
    this.#settle();
    return this.#keyCount;
  }

  /** Of all slots, those in use: 0 to 1. */
  get utilization(): number {
    return this.keyCount / this.slotCount;
  }

  get isFull(): boolean {
    // Of those that wait, some may be no new keys.
    if (this.#keyCount + this.#waitingWords / SLOT_WORDS < this.maxKeyCount) return false;
    return this.keyCount >= this.maxKeyCount;
  }

  /** Of the records that were put, which are their keys' latest. */
  get latest(): LatestOffsets {
    this.#settle();
    return this.#latest;
  }

  /** Empties it for the records of [firstOffset, endOffset). */
  reset(firstOffset: bigint, endOffset: bigint): void {
    this.#slots.fill(0, 0, (this.#usedSlots + 1) * SLOT_WORDS);
    this.#keyCount = 0;
    this.#waitingWords = 0;
    this.#useFirstSlots();
    this.#latest.reset(firstOffset, endOffset);
  }

  /** The key source[start, end) appears at this offset, which is higher than all before. */
  put(source: Uint8Array, start: number, end: number, offsetHigh: number, offsetLow: number): void {
    const hash = this.#hash;
    hash.hash(source, start, end);
    const waiting = this.#waiting;
    const at = this.#waitingWords;
    waiting[at] = asTaken(hash.h0);
    waiting[at + 1] = hash.h1;
    waiting[at + 2] = hash.h2;
    waiting[at + 3] = hash.h3;
    waiting[at + 4] = offsetHigh;
    waiting[at + 5] = offsetLow;
    this.#waitingWords = at + SLOT_WORDS;
    if (this.#waitingWords === waiting.length) this.#settle();
  }

  /**
   * All records of the batch [baseOffset, nextOffset) were put, each at an offset of its own. False: what is the
   * latest is not kept track of so far away.
   */
  cover(baseOffset: bigint, nextOffset: bigint): boolean {
    this.#latest.cover(baseOffset, nextOffset);
    return this.#latest.indexOf(baseOffset) >= 0;
  }

  /** Gives all that waits its slots. */
  #settle(): void {
    const end = this.#waitingWords;
    if (end === 0) return;
    const slots = this.#slots;
    const waiting = this.#waiting;
    let seen = 0;
    for (let from = 0; from < end; from += SLOT_WORDS) {
      seen |= slots[this.#startOf(waiting[from] as number)] as number;
    }
    this.#waitingWords = 0;
    for (let from = 0; from < end; from += SLOT_WORDS) {
      const h0 = waiting[from] as number;
      const h1 = waiting[from + 1] as number;
      const h2 = waiting[from + 2] as number;
      const h3 = waiting[from + 3] as number;
      const at = this.#find(h0, h1, h2, h3);
      if (slots[at] === 0) {
        slots[at] = h0;
        slots[at + 1] = h1;
        slots[at + 2] = h2;
        slots[at + 3] = h3;
        this.#keyCount++;
      } else {
        this.#latest.remove(slots[at + 4] as number, slots[at + 5] as number);
      }
      const offsetHigh = waiting[from + 4] as number;
      const offsetLow = waiting[from + 5] as number;
      this.#latest.add(offsetHigh, offsetLow);
      slots[at + 4] = offsetHigh;
      slots[at + 5] = offsetLow;
      if (this.#keyCount >= this.#growAt) this.#grow();
    }
    // Kept: loads whose outcome nobody could ever see may be left out.
    waiting[0] = seen;
  }

  /**
   * Memory that is not needed as long as no more than `keyCount` keys come; whatever is written to it lasts
   * until then. undefined: there is none.
   */
  spareMemory(keyCount: number): Buffer | undefined {
    this.#settle();
    if (
      this.#usedSlots > this.#fewSlots ||
      this.#keyCount + keyCount >= Math.floor(this.#fewSlots * CROWDED)
    ) {
      return undefined;
    }
    this.#isSpareTaken = true;
    return this.#spare;
  }

  /** Takes more of the memory. What is in use, an eighth at most, is copied for it. */
  #grow(): void {
    const slots = this.#slots;
    const old = slots.slice(0, (this.#usedSlots + 1) * SLOT_WORDS);
    slots.fill(0, 0, old.length);
    this.#use(this.#usedSlots * GROWTH);
    if (this.#isSpareTaken && this.#usedSlots > this.#fewSlots) {
      this.#spare.fill(0);
      this.#isSpareTaken = false;
    }
    const length = (this.#usedSlots + 1) * SLOT_WORDS;
    for (let from = 0; from < old.length; from += SLOT_WORDS) {
      const h0 = old[from] as number;
      if (h0 === 0) continue;
      let at = this.#startOf(h0);
      while (slots[at] !== 0) {
        at += SLOT_WORDS;
        if (at === length) at = 0;
      }
      for (let word = 0; word < SLOT_WORDS; word++) slots[at + word] = old[from + word] as number;
    }
  }

  /** Whether the map knows of no higher offset of the key. */
  isLatest(
    source: Uint8Array,
    start: number,
    end: number,
    offsetHigh: number,
    offsetLow: number,
  ): boolean {
    this.#settle();
    const slots = this.#slots;
    const hash = this.#hash;
    hash.hash(source, start, end);
    const at = this.#find(asTaken(hash.h0), hash.h1, hash.h2, hash.h3);
    if (slots[at] === 0) return true;
    const high = slots[at + 4] as number;
    return offsetHigh === high
      ? offsetLow >>> 0 >= (slots[at + 5] as number) >>> 0
      : offsetHigh > high;
  }

  /**
   * Where the key's slot starts, or the empty one that it would take: there always is one. Slots are
   * tried one after another: near its limit the map has long runs, but they lie side by side in memory.
   */
  #find(h0: number, h1: number, h2: number, h3: number): number {
    const slots = this.#slots;
    const length = (this.#usedSlots + 1) * SLOT_WORDS;
    let at = this.#startOf(h0);
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

  /** Where the search for a key of this hash begins: a product, as a remainder takes ten times as long. */
  #startOf(h0: number): number {
    return Math.floor((h0 >>> 0) * this.#slotsPerHash) * SLOT_WORDS;
  }
}

/** Zero marks an empty slot. */
function asTaken(h0: number): number {
  return h0 === 0 ? 1 : h0;
}
