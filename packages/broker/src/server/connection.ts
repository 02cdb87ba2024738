import type { Socket } from 'node:net';
import type { Clock } from '@millrace/compaction';
import type { Logger } from 'pino';
import type { ClientConnection } from '../handlers/handler.ts';
import {
  OUTGOING_QUEUE_BYTES,
  PIPELINED_REQUEST_BYTES,
  PIPELINED_REQUEST_OVERHEAD_BYTES,
} from '../limits.ts';
import { RequestRefusedError, type Dispatcher, type DispatchResult } from './dispatch.ts';
import { FrameLengthError, FrameReader } from './frame.ts';
import type { PartialRequest, RequestMemory } from './request-memory.ts';
import type { ResponseMemory } from './response-memory.ts';

export interface ConnectionOptions {
  readonly id: number;
  readonly socket: Socket;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `socket.request.max.bytes`. */
  readonly maxRequestBytes: number;
  readonly requestMemory: RequestMemory;
  readonly responseMemory: ResponseMemory;
}

/**
 * One client's connection: requests are handled one after the other and answered in their order.
 *
 * ```
 *  reading ── frame ──▶ handling ── answer ──▶ writing ── next frame ──▶ ...
 *     │ too many bytes waiting, here or                    │ answers not taken: no next frame
 *     │ over all connections: the socket is paused
 *     └── bad frame, refused request, peer gone, idle ──▶ closed
 * ```
 */
export class Connection implements ClientConnection, PartialRequest {
  readonly id: number;
  readonly clientHost: string;
  clientSoftwareName = '';
  clientSoftwareVersion = '';
  readonly #socket: Socket;
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #frames: FrameReader;
  readonly #requestMemory: RequestMemory;
  readonly #responseMemory: ResponseMemory;
  /** Requests not taken up yet, from `#nextIndex` on. */
  #waiting: Buffer[] = [];
  #nextIndex = 0;
  readonly #closeListeners = new Set<() => void>();
  readonly #onFrame = (frame: Buffer): void => {
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length + PIPELINED_REQUEST_OVERHEAD_BYTES;
  };
  #waitingBytes = 0;
  #handledBytes = 0;
  /** What the memory of requests and of answers knows of. */
  #countedRequestBytes = 0;
  #countedResponseBytes = 0;
  #isPaused = false;
  #hasTooManyWaiting = false;
  #waitsForMemory = false;
  #isHandling = false;
  #isWriteBlocked = false;
  #isStopping = false;
  #isClosed = false;
  #lastProgressMs: number;
  #lastReceivedMs: number;
  #lastBytesWritten = 0;

  constructor(options: ConnectionOptions) {
    this.id = options.id;
    this.#socket = options.socket;
    this.#dispatcher = options.dispatcher;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#frames = new FrameReader(options.maxRequestBytes);
    this.#requestMemory = options.requestMemory;
    this.#responseMemory = options.responseMemory;
    this.clientHost = `/${options.socket.remoteAddress ?? 'unknown'}`;
    this.#lastProgressMs = options.clock.monotonicMs();
    this.#lastReceivedMs = this.#lastProgressMs;

    const socket = this.#socket;
    socket.on('data', (chunk: Buffer) => {
      this.#onData(chunk);
    });
    socket.on('drain', () => {
      this.#isWriteBlocked = false;
      this.#countResponses();
      this.#next();
    });
    socket.on('error', (error: Error) => {
      this.#logger.debug({ err: error }, 'connection error');
    });
    socket.on('close', () => {
      this.#closed();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  onClose(listener: () => void): () => void {
    if (this.#isClosed) {
      listener();
      return () => undefined;
    }
    this.#closeListeners.add(listener);
    return () => this.#closeListeners.delete(listener);
  }

  close(reason: string): void {
    if (this.#isClosed) return;
    this.#logger.info({ client: this.clientHost }, `closing connection: ${reason}`);
    this.#destroy();
  }

  /** Milliseconds without a byte from the client, since it could send any. */
  silentMs(): number {
    return this.#clock.monotonicMs() - this.#lastReceivedMs;
  }

  /** Milliseconds without a request, an answer or a byte; 0 while a request is being handled. */
  idleMs(): number {
    const written = this.#socket.bytesWritten - this.#socket.writableLength;
    if (this.#isHandling || written !== this.#lastBytesWritten) {
      this.#lastBytesWritten = written;
      this.#lastProgressMs = this.#clock.monotonicMs();
    }
    return this.#clock.monotonicMs() - this.#lastProgressMs;
  }

  /** Takes up no further request; ends once the one in hand is answered and the answer is taken. */
  stop(): void {
    this.#isStopping = true;
    this.#clearWaiting();
    this.#next();
  }

  destroy(): void {
    this.#destroy();
  }

  resume(): void {
    this.#waitsForMemory = false;
    this.#lastReceivedMs = this.#clock.monotonicMs();
    this.#updateReading();
  }

  #onData(chunk: Buffer): void {
    this.#lastProgressMs = this.#lastReceivedMs = this.#clock.monotonicMs();
    if (this.#isStopping || this.#isClosed) return;
    try {
      this.#frames.push(chunk, this.#onFrame);
    } catch (error) {
      this.#refuse(error);
      return;
    }
    // Answers to requests that came together leave together.
    const areMany = this.#waiting.length - this.#nextIndex > 1;
    if (areMany) this.#socket.cork();
    this.#next();
    if (areMany) this.#socket.uncork();
    this.#countRequests();
    if (this.#frames.heldBytes === 0) this.#requestMemory.leave(this);
    else if (!this.isClosed) this.#waitsForMemory = this.#requestMemory.mustWait(this);
    this.#updateReading();
  }

  #updateReading(): void {
    if (this.#isClosed) return;
    const mostWaiting = this.#requestMemory.isFull ? 0 : PIPELINED_REQUEST_BYTES;
    if (this.#waitingBytes > mostWaiting) this.#hasTooManyWaiting = true;
    else if (this.#waitingBytes <= mostWaiting / 2) this.#hasTooManyWaiting = false;
    const isHeldBack = this.#hasTooManyWaiting || this.#waitsForMemory;
    if (isHeldBack === this.#isPaused) return;
    this.#isPaused = isHeldBack;
    if (isHeldBack) this.#socket.pause();
    else this.#socket.resume();
  }

  #countRequests(): void {
    const bytes = this.#isClosed
      ? 0
      : this.#frames.heldBytes + this.#waitingBytes + this.#handledBytes;
    if (bytes === this.#countedRequestBytes) return;
    const more = bytes - this.#countedRequestBytes;
    this.#countedRequestBytes = bytes;
    this.#requestMemory.change(more);
  }

  #countResponses(): void {
    // Less than what makes a stream ask for a drain is not told of when it is gone, and does not count.
    const isQueued = !this.#isClosed && this.#socket.writableNeedDrain;
    const bytes = isQueued ? this.#socket.writableLength : 0;
    if (bytes === this.#countedResponseBytes) return;
    this.#responseMemory.change(bytes - this.#countedResponseBytes);
    this.#countedResponseBytes = bytes;
  }

  /** Takes up requests while there are any and nothing holds them back. */
  #next(): void {
    while (!this.#isHandling && !this.#isWriteBlocked && !this.#isClosed) {
      const frame = this.#waiting[this.#nextIndex];
      if (frame === undefined) {
        this.#clearWaiting();
        if (this.#isStopping) this.#end();
        break;
      }
      this.#nextIndex++;
      this.#waitingBytes -= frame.length + PIPELINED_REQUEST_OVERHEAD_BYTES;
      this.#handle(frame);
    }
    if (this.#isPaused) {
      this.#countRequests();
      this.#updateReading();
    }
  }

  #end(): void {
    this.#socket.end(() => {
      this.#socket.destroy();
    });
  }

  #handle(frame: Buffer): void {
    let result: DispatchResult;
    try {
      result = this.#dispatcher.dispatch(frame, this);
    } catch (error) {
      this.#refuse(error);
      return;
    }
    if (!(result instanceof Promise)) {
      this.#write(result);
      return;
    }
    this.#isHandling = true;
    this.#handledBytes = frame.length;
    result.then(
      (chunks) => {
        this.#handled();
        this.#write(chunks);
        this.#next();
      },
      (error: unknown) => {
        this.#handled();
        this.#refuse(error);
      },
    );
  }

  #handled(): void {
    this.#isHandling = false;
    this.#handledBytes = 0;
    this.#countRequests();
  }

  #write(chunks: Buffer[] | null): void {
    if (chunks === null || this.#isClosed) return;
    const socket = this.#socket;
    this.#lastProgressMs = this.#clock.monotonicMs();
    if (chunks.length > 1) socket.cork();
    for (const chunk of chunks) socket.write(chunk);
    if (chunks.length > 1) socket.uncork();
    if (socket.writableLength > OUTGOING_QUEUE_BYTES) this.#isWriteBlocked = true;
    this.#countResponses();
  }

  /** A peer's bad bytes are worth one line at info; a fault of ours is an error. */
  #refuse(error: unknown): void {
    if (this.#isClosed) return;
    if (error instanceof FrameLengthError || error instanceof RequestRefusedError) {
      this.close(error.message);
      return;
    }
    this.#logger.error(
      { client: this.clientHost, err: error },
      'closing connection: the request could not be handled',
    );
    this.#destroy();
  }

  #clearWaiting(): void {
    this.#waiting = [];
    this.#nextIndex = 0;
    this.#waitingBytes = 0;
  }

  #destroy(): void {
    this.#socket.destroy();
    this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#clearWaiting();
    this.#countRequests();
    this.#countResponses();
    this.#requestMemory.leave(this);
    for (const listener of [...this.#closeListeners]) listener();
    this.#closeListeners.clear();
  }
}
