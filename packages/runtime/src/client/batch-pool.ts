import { BatchBuilder } from '@millrace/protocol';
import type { Codec } from '@millrace/protocol';
import { BUILDER_INITIAL_BYTES, POOLED_BUILDER_BYTES_MAX } from './limits.ts';

/** Batch builders for reuse: their memory is what batches are written into, over and over. */
export class BatchPool {
  readonly #codec: Codec;
  readonly #batchBytes: number;
  readonly #free: BatchBuilder[] = [];

  constructor(codec: Codec, batchBytes: number) {
    this.#codec = codec;
    this.#batchBytes = batchBytes;
  }

  take(): BatchBuilder {
    return (
      this.#free.pop() ??
      new BatchBuilder({
        codec: this.#codec,
        maxBytes: this.#batchBytes,
        initialBytes: Math.min(BUILDER_INITIAL_BYTES, this.#batchBytes),
      })
    );
  }

  give(builder: BatchBuilder): void {
    builder.reset();
    if (this.#free.length * this.#batchBytes < POOLED_BUILDER_BYTES_MAX) this.#free.push(builder);
  }
}
