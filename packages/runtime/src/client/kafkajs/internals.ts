import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { ConfigError } from '../../errors.ts';

/**
 * The parts of kafkajs 2.2.4 that are used beyond its types. kafkajs is pinned, and
 * `checkInternals` looks at each of them before the first connection.
 */
const KAFKAJS_VERSION = '2.2.4';

interface KafkaJsRequestQueue {
  enforceRequestTimeout: boolean;
  readonly pending: readonly unknown[];
  push(request: {
    readonly entry: {
      readonly apiKey: number;
      readonly apiName: string;
      readonly apiVersion: number;
      readonly correlationId: number;
      resolve(answer: { readonly payload: Buffer }): void;
      reject(error: Error): void;
    };
    readonly expectResponse: boolean;
    readonly requestTimeout: number;
    sendRequest(): void;
  }): void;
  maybeThrottle(ms: number): void;
  fulfillRequest(answer: {
    readonly correlationId: number;
    readonly payload: Buffer;
    readonly size: number;
  }): void;
  scheduleCheckPendingRequests(): void;
}

interface KafkaJsSocket {
  cork(): void;
  uncork(): void;
  write(chunk: Buffer): boolean;
  destroy(error?: Error): void;
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

export interface KafkaJsConnection {
  readonly sasl: unknown;
  readonly clientId: string | null;
  readonly requestQueue: KafkaJsRequestQueue;
  readonly socket?: KafkaJsSocket;
  /** Set while it logs in with SASL: then it reads by itself. */
  readonly authHandlers: unknown;
  processData(chunk: Buffer): void;
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  authenticate(): Promise<void>;
  isConnected(): boolean;
  isAuthenticated(): boolean;
  nextCorrelationId(): number;
  rejectRequests(error: Error): void;
}

export interface KafkaJsConnectionPool {
  readonly host: string;
  readonly port: number;
  readonly pool: readonly KafkaJsConnection[];
}

type KafkaJsVersions = Readonly<
  Record<string, { readonly minVersion: number; readonly maxVersion: number } | undefined>
>;

export interface KafkaJsBroker {
  readonly connectionPool: KafkaJsConnectionPool;
  readonly versions: KafkaJsVersions | null;
  connect(): Promise<void>;
}

export interface KafkaJsCluster {
  readonly connectionPoolBuilder: {
    /** Without an address: the next of the bootstrap servers. */
    build(address?: {
      readonly host: string;
      readonly port: number;
    }): Promise<KafkaJsConnectionPool>;
  };
  readonly brokerPool: {
    readonly rootLogger: unknown;
    createBroker(options: {
      readonly connectionPool: KafkaJsConnectionPool;
      readonly logger: unknown;
      readonly nodeId?: number;
    }): KafkaJsBroker;
  };
}

/**
 * A `Cluster` of its own, with the connections settings of a `Kafka`. The factory of a consumer's
 * partition assigner is handed the consumer's cluster; the consumer itself is never connected.
 *
 * @throws ConfigError when this is not the kafkajs that we know
 */
export function newCluster(kafka: Kafka): KafkaJsCluster {
  let found: unknown = null;
  kafka.consumer({
    groupId: 'millrace',
    allowAutoTopicCreation: false,
    partitionAssigners: [
      ({ cluster }) => {
        found = cluster;
        return inertAssigner;
      },
    ],
  });
  checkCluster(found);
  return found;
}

const inertAssigner = {
  name: 'none',
  version: 0,
  protocol: () => ({ name: 'none', metadata: Buffer.alloc(0) }),
  assign: () => Promise.resolve([]),
};

/** @throws ConfigError when another version of kafkajs is installed than the one that we know */
export function checkVersion(): void {
  const { version } = createRequire(import.meta.url)('kafkajs/package.json') as { version: string };
  if (version !== KAFKAJS_VERSION) {
    throw new ConfigError(
      `kafkajs ${version} is installed, but connections are built on ${KAFKAJS_VERSION} exactly; pin it`,
      { context: { found: version, expected: KAFKAJS_VERSION } },
    );
  }
}

function checkCluster(cluster: unknown): asserts cluster is KafkaJsCluster {
  check(cluster, 'cluster.connectionPoolBuilder', 'build');
  check(cluster, 'cluster.brokerPool', 'createBroker');
}

export function checkPool(pool: unknown): asserts pool is KafkaJsConnectionPool {
  for (const index of [0, 1]) {
    const connection = `connectionPool.pool.${index}`;
    const functions = ['connect', 'disconnect', 'authenticate', 'isConnected', 'isAuthenticated'];
    functions.push('processData');
    for (const name of functions) check(pool, connection, name);
    check(pool, connection, 'nextCorrelationId');
    check(pool, connection, 'rejectRequests');
    for (const name of [
      'push',
      'maybeThrottle',
      'fulfillRequest',
      'scheduleCheckPendingRequests',
    ]) {
      check(pool, `${connection}.requestQueue`, name);
    }
  }
}

function check(root: unknown, path: string, functionName: string): void {
  let value = root;
  for (const step of path.split('.').slice(1)) value = property(value, step);
  if (typeof property(value, functionName) === 'function') return;
  throw new ConfigError(
    `kafkajs is not built as version ${KAFKAJS_VERSION} is: ${path}.${functionName}() is missing; pass a Kafka of kafkajs ${KAFKAJS_VERSION}`,
    { context: { missing: `${path}.${functionName}` } },
  );
}

function property(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}
