import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Clock, Timer } from '@millrace/compaction';
import type { Logger } from 'pino';
import { BrokerStartError } from '../errors.ts';
import {
  CONNECTION_SWEEP_INTERVAL_MS,
  STALLED_REQUEST_MS,
  STOP_DRAIN_MS,
  TCP_KEEP_ALIVE_MS,
} from '../limits.ts';
import { Connection } from './connection.ts';
import type { Dispatcher } from './dispatch.ts';
import { RequestMemory } from './request-memory.ts';
import type { ResponseMemory } from './response-memory.ts';

export interface ServerOptions {
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly logger: Logger;
  /** `socket.request.max.bytes`. */
  readonly maxRequestBytes: number;
  /** `max.connections`. */
  readonly maxConnections: number;
  /** `connections.max.idle.ms`. */
  readonly maxIdleMs: number;
  /** `queued.max.request.bytes`. */
  readonly maxQueuedRequestBytes: number;
  readonly responseMemory: ResponseMemory;
}

/** Listens on loopback and keeps the connections. */
export class BrokerServer {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #requestMemory: RequestMemory;
  #nextConnectionId = 1;
  #refusedCount = 0;
  #sweepTimer: Timer | null = null;
  #isStopping = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#requestMemory = new RequestMemory(options.maxQueuedRequestBytes);
    this.#server = createServer(
      { noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS },
      (socket) => {
        this.#accept(socket);
      },
    );
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  /** Resolves with the port. Rejects with BrokerStartError: BROKER_PORT_IN_USE, BROKER_LISTEN_FAILED. */
  async listen(port: number, host: string): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException): void => {
        reject(listenError(error, host, port));
      };
      this.#server.once('error', onError);
      this.#server.listen({ port, host }, () => {
        this.#server.removeListener('error', onError);
        this.#server.on('error', (error) => {
          this.#options.logger.error({ err: error }, 'the listening socket failed');
        });
        resolve();
      });
    });
    this.#scheduleSweep();
    return (this.#server.address() as AddressInfo).port;
  }

  /** Lets requests in hand be answered for at most `STOP_DRAIN_MS`, then cuts off what is left. */
  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#sweepTimer?.cancel();
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    for (const connection of this.#connections) connection.stop();
    const deadline = this.#options.clock.setTimer(STOP_DRAIN_MS, () => {
      for (const connection of this.#connections) connection.destroy();
    });
    await closed;
    deadline.cancel();
  }

  #accept(socket: Socket): void {
    const { clock, logger, dispatcher, maxRequestBytes, maxConnections } = this.#options;
    if (this.#isStopping || this.#connections.size >= maxConnections) {
      this.#refusedCount++;
      // The first, and every 1000th after it: a client in a loop must not fill the log.
      if (!this.#isStopping && this.#refusedCount % 1000 === 1) {
        logger.info(
          { maxConnections, refusedCount: this.#refusedCount },
          'connection refused: max.connections is reached',
        );
      }
      socket.destroy();
      return;
    }
    const id = this.#nextConnectionId++;
    const connection = new Connection({
      id,
      socket,
      dispatcher,
      clock,
      logger: logger.child({ connection: id }),
      maxRequestBytes,
      requestMemory: this.#requestMemory,
      responseMemory: this.#options.responseMemory,
    });
    this.#connections.add(connection);
    connection.onClose(() => {
      this.#connections.delete(connection);
    });
  }

  #scheduleSweep(): void {
    const { clock, maxIdleMs } = this.#options;
    const intervalMs = Math.min(CONNECTION_SWEEP_INTERVAL_MS, maxIdleMs);
    this.#sweepTimer = clock.setTimer(intervalMs, () => {
      for (const connection of this.#connections) {
        if (connection.idleMs() >= maxIdleMs) {
          connection.close(`idle for more than connections.max.idle.ms (${maxIdleMs})`);
        } else if (
          connection === this.#requestMemory.heldUpBy &&
          connection.silentMs() >= STALLED_REQUEST_MS
        ) {
          connection.close(
            'its request does not arrive, and others wait for the memory that it takes',
          );
        }
      }
      this.#scheduleSweep();
    });
  }
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): BrokerStartError {
  if (error.code === 'EADDRINUSE') {
    return new BrokerStartError(
      'BROKER_PORT_IN_USE',
      `Port ${port} on ${host} is in use. Stop what listens there, or choose another port (0 takes a free one).`,
      { cause: error },
    );
  }
  if (error.code === 'EACCES') {
    return new BrokerStartError(
      'BROKER_LISTEN_FAILED',
      `No permission to listen on ${host}:${port}. Ports below 1024 need privileges; choose a higher one.`,
      { cause: error },
    );
  }
  return new BrokerStartError(
    'BROKER_LISTEN_FAILED',
    `Cannot listen on ${host}:${port}: ${error.message}`,
    { cause: error },
  );
}
