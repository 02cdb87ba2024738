import type { StreamsConfig } from '../config/streams-config.ts';
import { RecordCache } from '../state/cache/record-cache.ts';

/**
 * What the stream threads of a client share in equal parts. It changes with their number: caches that
 * are over their new part let go with their next writes.
 */
export class ThreadShares {
  readonly #cacheMaxBytes: number;
  readonly #uncommittedMaxBytes: number;
  readonly #hasGlobalThread: boolean;
  #maxBytes = 0;
  #threadCount = 0;

  constructor(config: StreamsConfig, hasGlobalThread: boolean) {
    this.#cacheMaxBytes = config.get('statestore.cache.max.bytes');
    this.#uncommittedMaxBytes = config.get('statestore.uncommitted.max.bytes');
    this.#hasGlobalThread = hasGlobalThread;
    this.shareAmong(config.get('num.stream.threads'));
  }

  /** From here on; at least one thread has all of it. */
  shareAmong(threadCount: number): void {
    this.#threadCount = Math.max(threadCount, 1);
    const shareCount = this.#threadCount + (this.#hasGlobalThread ? 1 : 0);
    this.#maxBytes = Math.floor(this.#cacheMaxBytes / shareCount);
  }

  /** One thread's part of `statestore.cache.max.bytes`, of which the global thread has one, too. */
  get maxBytes(): number {
    return this.#maxBytes;
  }

  /** One thread's part of `statestore.uncommitted.max.bytes` (KIP-892); -1 if there is no bound. */
  get uncommittedMaxBytes(): number {
    const bytes = this.#uncommittedMaxBytes;
    return bytes < 0 ? -1 : Math.floor(bytes / this.#threadCount);
  }

  /** For one thread; null if nothing is to be cached. */
  cache(): RecordCache | null {
    return this.#cacheMaxBytes === 0 ? null : new RecordCache(this);
  }
}
