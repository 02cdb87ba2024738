/** Whoever holds a part of a request that has not arrived as a whole. */
export interface PartialRequest {
  /** There is room again: go on reading. */
  resume(): void;
}

/**
 * Bytes of requests over all connections: those that arrive, wait, or are handled.
 *
 * When the bound is reached, connections whose request is not whole yet stop reading, in the order in
 * which they come; one of them goes on beyond the bound, so that there is always one that ends. So memory
 * is bounded by the limit and one request. Small requests, which come in one piece, wait for nobody.
 */
export class RequestMemory {
  readonly #limitBytes: number;
  #usedBytes = 0;
  readonly #waiting = new Set<PartialRequest>();
  #favoured: PartialRequest | null = null;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get isFull(): boolean {
    return this.#usedBytes >= this.#limitBytes;
  }

  /** The one that may go beyond the bound, if others wait meanwhile. */
  get heldUpBy(): PartialRequest | null {
    return this.#waiting.size > 0 ? this.#favoured : null;
  }

  change(bytes: number): void {
    this.#usedBytes += bytes;
    if (bytes < 0) this.#wake();
  }

  /** Whether this one must stop reading until it is resumed. */
  mustWait(request: PartialRequest): boolean {
    if (!this.isFull || request === this.#favoured) return false;
    if (this.#favoured === null) {
      this.#favoured = request;
      return false;
    }
    this.#waiting.add(request);
    return true;
  }

  /** The request has arrived, or will not. */
  leave(request: PartialRequest): void {
    this.#waiting.delete(request);
    if (this.#favoured !== request) return;
    this.#favoured = null;
    this.#wake();
  }

  #wake(): void {
    for (const request of this.#waiting) {
      if (this.isFull) {
        if (this.#favoured !== null) return;
        this.#favoured = request;
      }
      this.#waiting.delete(request);
      request.resume();
    }
  }
}
