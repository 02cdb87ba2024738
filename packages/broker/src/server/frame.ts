import { FRAME_FIRST_ALLOCATION_BYTES } from '../limits.ts';

const SIZE_BYTES = 4;

/** The peer states a length that no request can have. */
export class FrameLengthError extends Error {
  readonly length: number;

  constructor(length: number, maxBytes: number) {
    super(`frame length ${length} is outside 0..${maxBytes} (socket.request.max.bytes)`);
    this.name = 'FrameLengthError';
    this.length = length;
  }
}

/**
 * Cuts a byte stream into frames: a 4-byte length, then that many bytes.
 *
 * A frame that arrives in one piece is handed out as a view of that piece. One that comes in several is
 * copied once into its own buffer, which grows only as bytes arrive: a length alone reserves no memory.
 */
export class FrameReader {
  readonly #maxBytes: number;
  readonly #size = Buffer.alloc(SIZE_BYTES);
  #sizeFilled = 0;
  #frame: Buffer | null = null;
  #frameLength = 0;
  #frameFilled = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Memory taken by a frame that is not whole yet. */
  get heldBytes(): number {
    return this.#frame === null ? 0 : this.#frame.length;
  }

  /** Calls `onFrame` for each frame that is complete with this chunk. Throws FrameLengthError. */
  push(chunk: Buffer, onFrame: (frame: Buffer) => void): void {
    let position = 0;
    while (position < chunk.length) {
      if (this.#frame === null) {
        if (this.#sizeFilled === 0 && chunk.length - position >= SIZE_BYTES) {
          this.#frameLength = this.#checked(chunk.readInt32BE(position));
          position += SIZE_BYTES;
        } else {
          const copied = chunk.copy(this.#size, this.#sizeFilled, position);
          position += copied;
          this.#sizeFilled += copied;
          if (this.#sizeFilled < SIZE_BYTES) return;
          this.#frameLength = this.#checked(this.#size.readInt32BE(0));
        }
        this.#sizeFilled = 0;
        if (chunk.length - position >= this.#frameLength) {
          const end = position + this.#frameLength;
          onFrame(chunk.subarray(position, end));
          position = end;
          continue;
        }
        this.#frame = Buffer.allocUnsafe(Math.min(this.#frameLength, FRAME_FIRST_ALLOCATION_BYTES));
        this.#frameFilled = 0;
      }
      position = this.#fill(chunk, position, onFrame);
    }
  }

  #fill(chunk: Buffer, start: number, onFrame: (frame: Buffer) => void): number {
    let frame = this.#frame as Buffer;
    const end = Math.min(chunk.length, start + this.#frameLength - this.#frameFilled);
    const filled = this.#frameFilled + (end - start);
    if (filled > frame.length) {
      const grown = Buffer.allocUnsafe(
        Math.min(this.#frameLength, Math.max(frame.length * 2, filled)),
      );
      frame.copy(grown, 0, 0, this.#frameFilled);
      this.#frame = frame = grown;
    }
    chunk.copy(frame, this.#frameFilled, start, end);
    this.#frameFilled = filled;
    if (filled === this.#frameLength) {
      this.#frame = null;
      onFrame(frame);
    }
    return end;
  }

  #checked(length: number): number {
    if (length < 0 || length > this.#maxBytes) {
      throw new FrameLengthError(length, this.#maxBytes);
    }
    return length;
  }
}
