import { encodeRequest } from '@millrace/protocol';
import type { Api, Encodable } from '@millrace/protocol';
import type { StreamsError } from '../../errors.ts';
import { ConnectionError, UnsupportedVersionError } from '../errors.ts';
import type { ResponseMemory } from '../response-memory.ts';
import type { AnyApiUse, Lane } from '../transport.ts';
import { fromKafkaJs } from './errors.ts';
import { FrameReader } from './frame-reader.ts';
import { quietIdleTimers } from './idle-timer.ts';
import { checkPool } from './internals.ts';
import type { KafkaJsBroker, KafkaJsCluster, KafkaJsConnection } from './internals.ts';

/** kafkajs's own timeout, which its queue wants to know but which we have switched off, ms. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

const laneIndex = { main: 0, parked: 1 } as const;

export interface LinkAddress {
  readonly host: string;
  readonly port: number;
}

/**
 * The two connections to one broker. Once one of them breaks the whole link is given up and a new
 * one is made, so that versions and addresses are learnt anew.
 */
export class NodeLink {
  /** Null: one of the bootstrap servers, as kafkajs picks them in turn. */
  readonly address: LinkAddress | null;
  readonly #cluster: KafkaJsCluster;
  readonly #requiredUses: readonly AnyApiUse[];
  readonly #memory: ResponseMemory;
  #broker: KafkaJsBroker | null = null;
  #connecting: Promise<void> | null = null;
  readonly #lanes: readonly [LaneState, LaneState] = [newLane(), newLane()];
  #failure: StreamsError | null = null;
  #destroying: Promise<unknown> = Promise.resolve();

  /**
   * @param requiredUses what the broker must speak, or connecting fails
   * @param memory where its answers are put together
   */
  constructor(
    cluster: KafkaJsCluster,
    address: LinkAddress | null,
    requiredUses: readonly AnyApiUse[],
    memory: ResponseMemory,
  ) {
    this.#memory = memory;
    this.#cluster = cluster;
    this.address = address;
    this.#requiredUses = requiredUses;
  }

  /** Given up, or closed by the broker meanwhile: of no use any more. */
  get isBroken(): boolean {
    return this.#failure !== null || this.#lanes.some((_, index) => this.#isLost(index));
  }

  /** Connected and negotiated. */
  get isReady(): boolean {
    return !this.isBroken && this.#lanes[0].isEstablished;
  }

  get isIdle(): boolean {
    return this.#lanes.every(({ inFlightCount, connecting }) => inFlightCount === 0 && !connecting);
  }

  /** Where it really leads. */
  get connectedAddress(): LinkAddress | null {
    const pool = this.#broker?.connectionPool;
    return pool === undefined ? this.address : { host: pool.host, port: pool.port };
  }

  get name(): string {
    const address = this.connectedAddress;
    return address === null ? 'a bootstrap server' : `${address.host}:${address.port}`;
  }

  /** Null when the lane can be used now, without a wait, so that sends stay in order. */
  prepare(lane: Lane): Promise<void> | null {
    const index = laneIndex[lane];
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isLost(index)) {
      const lost = new ConnectionError(`The broker at ${this.name} closed the connection`);
      this.fail(lost);
      return Promise.reject(lost);
    }
    const state = this.#lanes[index];
    const connection = this.#connection(index);
    if (
      state.connecting === null &&
      state.isEstablished &&
      connection !== undefined &&
      !needsLogin(connection)
    ) {
      return null;
    }
    return (state.connecting ??= this.#connectLane(index).finally(() => {
      state.connecting = null;
    }));
  }

  /** @throws UnsupportedVersionError */
  pickVersion({ api, minVersion, maxVersion }: AnyApiUse): number {
    const range = this.#broker?.versions?.[api.key];
    const version = range === undefined ? -1 : Math.min(maxVersion, range.maxVersion);
    if (range !== undefined && version >= minVersion && version >= range.minVersion) return version;
    const theirs =
      range === undefined ? 'not at all' : `in versions ${range.minVersion} to ${range.maxVersion}`;
    throw new UnsupportedVersionError(
      `${api.name} is needed in a version from ${minVersion} to ${maxVersion}, but the broker at ${this.name} speaks it ${theirs}`,
      { context: { api: api.name, minVersion, maxVersion, broker: this.name } },
    );
  }

  /**
   * Writes a request on a prepared lane at once and resolves with the answer's bytes after the
   * correlation id. This goes straight to the connection's queue instead of through
   * `connectionPool.send`: that one copies a request three times on its way, and may change the
   * order of two that are sent in one turn.
   */
  send<Req>(
    lane: Lane,
    api: Api<Req, unknown>,
    version: number,
    body: Encodable<Req>,
  ): Promise<Buffer> {
    const index = laneIndex[lane];
    const connection = this.#connection(index);
    if (connection === undefined || !connection.isConnected()) {
      return Promise.reject(new ConnectionError(`Not connected to ${this.name}`));
    }
    const correlationId = connection.nextCorrelationId();
    const { clientId } = connection;
    const chunks = encodeRequest(api, version, { correlationId, clientId }, body);
    this.#addInFlight(index, 1);
    return new Promise((resolve, reject) => {
      connection.requestQueue.push({
        entry: {
          apiKey: api.key,
          apiName: api.name,
          apiVersion: version,
          correlationId,
          resolve: ({ payload }) => {
            this.#addInFlight(index, -1);
            resolve(payload);
          },
          reject: (error) => {
            this.#addInFlight(index, -1);
            this.fail(error);
            reject(fromKafkaJs(error, `${api.name} to ${this.name}`, { broker: this.name }));
          },
        },
        expectResponse: true,
        requestTimeout: NO_TIMEOUT_MS,
        sendRequest: () => {
          writeAll(connection, chunks);
        },
      });
    });
  }

  /** The broker asks us to slow down (KIP-219). */
  throttle(lane: Lane, ms: number): void {
    this.#connection(laneIndex[lane])?.requestQueue.maybeThrottle(ms);
  }

  /** Gives the link up: what is under way fails, both sockets are destroyed. */
  fail(error: Error): void {
    if (this.#failure !== null) return;
    const failure = fromKafkaJs(error, `Connection to ${this.name}`, { broker: this.name });
    this.#failure = failure;
    const connections = this.#broker?.connectionPool.pool ?? [];
    // Not at once: this may be called while kafkajs rejects the requests of a connection one by one.
    this.#destroying = Promise.resolve().then(() =>
      Promise.all(connections.map((connection) => destroy(connection, failure))),
    );
  }

  /** Ends the link: what is under way fails with `error`. Resolves when its sockets are gone. */
  async close(error: Error): Promise<void> {
    this.fail(error);
    await this.#destroying;
  }

  #connection(index: 0 | 1): KafkaJsConnection | undefined {
    return this.#broker?.connectionPool.pool[index];
  }

  /**
   * A connection that was up and is not any more. kafkajs could connect it again, but would take the
   * rest of a half-read answer for the beginning of the next.
   */
  #isLost(index: number): boolean {
    const lane = index === 0 ? 0 : 1;
    return this.#lanes[lane].isEstablished && this.#connection(lane)?.isConnected() !== true;
  }

  #addInFlight(index: 0 | 1, by: number): void {
    const lane = this.#lanes[index];
    lane.inFlightCount += by;
    if (lane.inFlightCount === 0) for (const resolve of lane.onIdle.splice(0)) resolve();
  }

  async #connectLane(index: 0 | 1): Promise<void> {
    const lane = this.#lanes[index];
    try {
      await (this.#connecting ??= this.#connect());
      const connection = this.#connection(index);
      if (connection === undefined) throw new ConnectionError(`Not connected to ${this.name}`);
      if (!connection.isConnected()) await connection.connect();
      lane.isEstablished = true;
      if (needsLogin(connection)) {
        // A broker that asks for a new login (KIP-368) must not see other requests in between.
        if (lane.inFlightCount > 0) {
          await new Promise<void>((resolve) => lane.onIdle.push(resolve));
        }
        await connection.authenticate();
      }
      if (this.#failure !== null) throw this.#failure;
    } catch (error) {
      const failure = fromKafkaJs(error, `Connecting to ${this.name}`, { broker: this.name });
      this.fail(failure);
      throw failure;
    }
  }

  /** kafkajs goes on reading only while it logs in, when nothing else is under way. */
  #readOurselves(connection: KafkaJsConnection): void {
    const reader = new FrameReader(this.#memory, {
      frame: (correlationId, payload, size) => {
        connection.requestQueue.fulfillRequest({ correlationId, payload, size });
      },
      broken: (error) => {
        this.fail(error);
      },
    });
    const readLogin = connection.processData.bind(connection);
    connection.processData = (chunk) => {
      // It keeps what it is given, and the chunk's memory is used again.
      if (connection.authHandlers) readLogin(Buffer.from(chunk));
      else reader.push(chunk);
    };
  }

  async #connect(): Promise<void> {
    const { connectionPoolBuilder, brokerPool } = this.#cluster;
    const pool = await connectionPoolBuilder.build(this.address ?? undefined);
    checkPool(pool);
    quietIdleTimers(pool);
    for (const connection of pool.pool) this.#readOurselves(connection);
    if (this.#failure !== null) throw this.#failure;
    const logger = brokerPool.rootLogger;
    this.#broker = brokerPool.createBroker({ connectionPool: pool, logger });
    await this.#broker.connect();
    this.#lanes[0].isEstablished = true;
    for (const required of this.#requiredUses) this.pickVersion(required);
  }
}

interface LaneState {
  connecting: Promise<void> | null;
  /** It has been connected once. */
  isEstablished: boolean;
  inFlightCount: number;
  readonly onIdle: (() => void)[];
}

function newLane(): LaneState {
  return { connecting: null, isEstablished: false, inFlightCount: 0, onIdle: [] };
}

function needsLogin(connection: KafkaJsConnection): boolean {
  const { sasl } = connection;
  return sasl !== null && sasl !== undefined && !connection.isAuthenticated();
}

function writeAll({ socket }: KafkaJsConnection, chunks: readonly Buffer[]): void {
  if (socket === undefined) return;
  socket.cork();
  for (const chunk of chunks) socket.write(chunk);
  socket.uncork();
}

/** Resolves when the socket is gone. */
async function destroy(connection: KafkaJsConnection, error: Error): Promise<void> {
  const { socket } = connection;
  const gone =
    socket === undefined || socket.destroyed
      ? Promise.resolve()
      : new Promise<void>((resolve) => socket.once('close', resolve));
  if (connection.isConnected()) {
    connection.rejectRequests(error);
    await connection.disconnect();
    socket?.destroy();
  } else {
    // With an error it also ends kafkajs's connect() and its timer.
    socket?.destroy(error);
  }
  await gone;
}
