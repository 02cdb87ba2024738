import { RESPONSE_QUEUE_BYTES } from '../limits.ts';

/**
 * Bytes of answers that clients have not taken yet, over all connections. It may be told more than there
 * is: a connection's bytes are counted down when all of them are taken.
 */
export class ResponseMemory {
  #queuedBytes = 0;

  /** What a large answer may still take; 0 if slow readers hold all that there is to be had. */
  get availableBytes(): number {
    return Math.max(0, RESPONSE_QUEUE_BYTES - this.#queuedBytes);
  }

  change(bytes: number): void {
    this.#queuedBytes += bytes;
  }
}
