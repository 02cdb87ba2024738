import type { RecordOrigin } from '../operators/task-context.ts';
import type { CachingContext, OriginCopy } from '../state/cache/caching-context.ts';
import type { RecordCache } from '../state/cache/record-cache.ts';
import type { RecordQueue } from './record-queue.ts';

/** The task's context, as far as its record caches need it. */
export interface RecordInHand {
  origin: RecordOrigin | null;
  readonly queue: RecordQueue | null;
}

/** What the record caches of a task's stores know of the record in hand. */
export class TaskCaching implements CachingContext {
  readonly cache: RecordCache;
  readonly #context: RecordInHand;
  readonly #keepsRawRecords: boolean;

  /** `keepsRawRecords`: somebody may ask for a record's bytes when a node below a cache has failed. */
  constructor(context: RecordInHand, cache: RecordCache, keepsRawRecords: boolean) {
    this.cache = cache;
    this.#context = context;
    this.#keepsRawRecords = keepsRawRecords;
  }

  get origin(): RecordOrigin | null {
    return this.#context.origin;
  }

  set origin(origin: RecordOrigin | null) {
    this.#context.origin = origin;
  }

  copyOrigin(target: OriginCopy): void {
    const { origin, queue } = this.#context;
    if (origin !== null) {
      target.topic = origin.topic;
      target.partition = origin.partition;
      target.baseOffset = origin.offset;
      target.offsetDelta = 0;
      target.rawKey = origin.rawKey ?? null;
      target.rawValue = origin.rawValue ?? null;
      return;
    }
    target.topic = queue === null ? null : queue.topic;
    target.partition = queue === null ? -1 : queue.partition;
    target.baseOffset = queue === null ? -1n : queue.headBaseOffset;
    target.offsetDelta = queue === null ? 0 : queue.headOffsetDelta;
    if (!this.#keepsRawRecords) return;
    const bytes = queue?.headBytes();
    // The batch that they lie in is not kept.
    target.rawKey = copied(bytes?.key);
    target.rawValue = copied(bytes?.value);
  }
}

function copied(bytes: Uint8Array | null | undefined): Buffer | null {
  return bytes === null || bytes === undefined ? null : Buffer.from(bytes);
}
