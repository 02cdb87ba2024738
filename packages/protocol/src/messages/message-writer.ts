import { InvalidValueError } from '../bytes/protocol-error.ts';
import { Writer } from '../bytes/writer.ts';
import { MAX_FRAME_BYTES } from './limits.ts';

interface Splice {
  /** Where in the writer's own bytes the chunk comes. */
  readonly position: number;
  readonly chunk: Buffer;
}

/**
 * A writer that can take large byte ranges without copying them: they are kept aside and put
 * between pieces of the written bytes at the end.
 */
export class MessageWriter extends Writer {
  readonly #minChunkBytes: number;
  readonly #splices: Splice[] = [];
  #splicedBytes = 0;

  /** @param minChunkBytes ranges from this size on are kept aside; `Infinity` copies all of them. */
  constructor(minChunkBytes: number) {
    super();
    this.#minChunkBytes = minChunkBytes;
  }

  /** Fills the int32 at the start with the number of bytes that follow it. */
  setFrameSize(): void {
    const size = this.length + this.#splicedBytes - 4;
    if (size > MAX_FRAME_BYTES) {
      throw new InvalidValueError(
        `a frame of ${size} bytes exceeds the protocol's ${MAX_FRAME_BYTES}; send less at once`,
      );
    }
    this.setInt32(0, size);
  }

  writeChunk(source: Uint8Array): void {
    if (source.length < this.#minChunkBytes) {
      this.writeBytes(source);
      return;
    }
    const chunk = Buffer.from(source.buffer, source.byteOffset, source.length);
    this.#splices.push({ position: this.length, chunk });
    this.#splicedBytes += chunk.length;
  }

  /** The written bytes in order, as views. */
  toChunks(): Buffer[] {
    const own = this.toBuffer();
    const chunks: Buffer[] = [];
    let start = 0;
    for (const { position, chunk } of this.#splices) {
      if (position > start) chunks.push(own.subarray(start, position));
      chunks.push(chunk);
      start = position;
    }
    if (start < own.length) chunks.push(own.subarray(start));
    return chunks;
  }
}
