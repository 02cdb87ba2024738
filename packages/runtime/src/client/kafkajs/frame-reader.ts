import { FrameError } from '../errors.ts';
import { RESPONSE_BYTES_MAX } from '../limits.ts';
import type { ResponseMemory } from '../response-memory.ts';

const LENGTH_BYTES = 4;
const CORRELATION_ID_BYTES = 4;

export interface FrameListener {
  frame(correlationId: number, payload: Buffer, sizeInBytes: number): void;
  /** What follows on the connection makes no sense any more. */
  broken(error: FrameError): void;
}

/**
 * Cuts what a socket delivers into responses. A response is copied once, into memory of its own, so that
 * the chunks' memory may be used again; kafkajs joins all pieces, and again whenever one more has come.
 */
export class FrameReader {
  readonly #memory: ResponseMemory;
  readonly #listener: FrameListener;
  readonly #length = Buffer.alloc(LENGTH_BYTES);
  #lengthBytes = 0;
  /** The response being put together; null between two. */
  #frame: Buffer | null = null;
  #frameBytes = 0;
  #isBroken = false;

  constructor(memory: ResponseMemory, listener: FrameListener) {
    this.#memory = memory;
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    let position = 0;
    while (position < chunk.length && !this.#isBroken) {
      if (this.#frame !== null) {
        position = this.#fill(this.#frame, chunk, position);
      } else if (this.#lengthBytes === 0 && chunk.length - position >= LENGTH_BYTES) {
        position = this.#begin(chunk.readInt32BE(position), chunk, position + LENGTH_BYTES);
      } else {
        this.#length[this.#lengthBytes++] = chunk[position++] as number;
        if (this.#lengthBytes < LENGTH_BYTES) continue;
        this.#lengthBytes = 0;
        position = this.#begin(this.#length.readInt32BE(0), chunk, position);
      }
    }
  }

  #begin(size: number, chunk: Buffer, position: number): number {
    if (size < CORRELATION_ID_BYTES || size > RESPONSE_BYTES_MAX) {
      this.#isBroken = true;
      this.#listener.broken(
        new FrameError(
          `A response claims a size of ${size} bytes; from ${CORRELATION_ID_BYTES} to ${RESPONSE_BYTES_MAX} are possible. ` +
            'Check that the address is that of a Kafka broker, and its listener of the kind that is configured here (TLS or not)',
          { context: { size, max: RESPONSE_BYTES_MAX } },
        ),
      );
      return chunk.length;
    }
    const frame = this.#memory.take(size);
    this.#frame = frame;
    this.#frameBytes = 0;
    return this.#fill(frame, chunk, position);
  }

  #fill(frame: Buffer, chunk: Buffer, position: number): number {
    const end = Math.min(chunk.length, position + frame.length - this.#frameBytes);
    this.#frameBytes += chunk.copy(frame, this.#frameBytes, position, end);
    if (this.#frameBytes === frame.length) {
      this.#frame = null;
      this.#deliver(frame);
    }
    return end;
  }

  #deliver(frame: Buffer): void {
    const payload = frame.subarray(CORRELATION_ID_BYTES);
    this.#listener.frame(frame.readInt32BE(0), payload, frame.length);
  }
}
