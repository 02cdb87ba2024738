import { RESPONSE_MEMORY_POOL_BYTES, RESPONSE_MEMORY_STEP_BYTES } from './limits.ts';

/**
 * Memory for large responses, used again once their records are processed. It lies outside of V8's heap,
 * and V8 calls the garbage collector by how much of such memory is made: without this, an application
 * that reads 100 MB/s spends a tenth of its time there.
 *
 * What is never given back is the garbage collector's, so only whoever knows that nobody looks at it any
 * more needs to care.
 */
export class ResponseMemory {
  readonly #free: Buffer[] = [];
  #freeBytes = 0;
  /** Handed out and not given back; weak, or what is forgotten would stay for ever. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  /** Memory of this size, with anything in it. */
  take(size: number): Buffer {
    if (size < RESPONSE_MEMORY_STEP_BYTES) return Buffer.allocUnsafeSlow(size);
    const memory = this.#takeFree(size) ?? Buffer.allocUnsafeSlow(roundedUp(size));
    this.#lent.add(memory.buffer);
    return memory.subarray(0, size);
  }

  /** Nobody looks at it any more. Memory that does not come from here, or came back before, is let go. */
  give(memory: ArrayBufferLike): void {
    if (!this.#lent.delete(memory)) return;
    if (this.#freeBytes + memory.byteLength > RESPONSE_MEMORY_POOL_BYTES) return;
    this.#free.push(Buffer.from(memory as ArrayBuffer));
    this.#freeBytes += memory.byteLength;
  }

  /** The smallest that is large enough. */
  #takeFree(size: number): Buffer | null {
    let found = -1;
    for (let i = 0; i < this.#free.length; i++) {
      const { length } = this.#free[i] as Buffer;
      if (length < size) continue;
      if (found < 0 || length < (this.#free[found] as Buffer).length) found = i;
    }
    if (found < 0) return null;
    const [memory] = this.#free.splice(found, 1) as [Buffer];
    this.#freeBytes -= memory.length;
    return memory;
  }
}

/**
 * Doubled steps, so that what one response has left fits the next, whose size is about the same. What of
 * it is never written to takes no memory.
 */
function roundedUp(size: number): number {
  let rounded = RESPONSE_MEMORY_STEP_BYTES;
  while (rounded < size) rounded *= 2;
  return rounded;
}

/** What several partitions' records share: one response. */
export class SharedMemory {
  readonly #memory: ArrayBufferLike;
  readonly #giveBack: (memory: ArrayBufferLike) => void;
  #holderCount = 0;

  constructor(memory: ArrayBufferLike, giveBack: (memory: ArrayBufferLike) => void) {
    this.#memory = memory;
    this.#giveBack = giveBack;
  }

  hold(): this {
    this.#holderCount++;
    return this;
  }

  /** Once per `hold`, when the records will not be looked at any more. */
  release(): void {
    this.#holderCount--;
    if (this.#holderCount === 0) this.#giveBack(this.#memory);
  }
}
