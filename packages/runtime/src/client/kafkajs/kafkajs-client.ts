import { Kafka } from 'kafkajs';
import type { KafkaConfig } from 'kafkajs';
import type { Logger } from 'pino';
import { ConfigError } from '../../errors.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Clock } from '../../platform/clock.ts';
import { systemRandom } from '../../platform/random.ts';
import type { Random } from '../../platform/random.ts';
import { Admin } from '../admin.ts';
import { apiUses } from '../apis.ts';
import { ClusterAdmin } from '../cluster/cluster-admin.ts';
import { Fetcher } from '../fetcher.ts';
import { GroupMember } from '../group-member.ts';
import { CONNECTION_TIMEOUT_MS, REQUEST_TIMEOUT_MS } from '../limits.ts';
import type {
  AdminPort,
  FetchPort,
  FetcherOptions,
  GroupOptions,
  GroupPort,
  ProducerOptions,
  ProducerPort,
  StreamsClient,
  TransactionalProducerOptions,
  TransactionalProducerPort,
} from '../ports.ts';
import { Producer } from '../producer.ts';
import { Sleeper } from '../sleeper.ts';
import { TransactionalProducer } from '../transactions/transactional-producer.ts';
import type { AnyApiUse } from '../transport.ts';
import { checkVersion, newCluster } from './internals.ts';
import { KafkaJsTransport } from './kafkajs-transport.ts';
import { kafkaJsLogCreator, kafkaJsLogLevel } from './logging.ts';
import { socketFactory } from './socket.ts';

export interface KafkaJsClientOptions {
  /** The user's own; its client id, retry and log settings hold. Either this or `config`. */
  readonly kafka?: Kafka;
  /** What `new Kafka()` takes: brokers, ssl, sasl, socketFactory, ... */
  readonly config?: KafkaConfig;
  /** For `config`; the broker sees it in its logs and quotas. */
  readonly clientId: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
  /** `request.timeout.ms` of everything but the producer, which has its own; default 30 s. */
  readonly requestTimeoutMs?: number;
}

/** What tools that look after a cluster ask for, beside what the runtime needs. */
export interface KafkaClient extends StreamsClient {
  /** `timeoutMs`: longest time of one call, retries included. */
  cluster(timeoutMs: number): ClusterAdmin;
}

/**
 * The Kafka client of the runtime on kafkajs 2.2.4's connections. Each group member, fetcher and
 * producer gets connections of its own, because a request that the broker holds back holds up those
 * behind it; all admin calls share one more. Nothing is connected before it is first used.
 *
 * @throws ConfigError when kafkajs is not the version that we know
 */
export function kafkaJsClient(options: KafkaJsClientOptions): KafkaClient {
  checkVersion();
  return new KafkaJsClient(options, options.kafka ?? newKafka(options));
}

function newKafka({ config, clientId, logger }: KafkaJsClientOptions): Kafka {
  if (config === undefined) {
    throw new ConfigError('A Kafka client needs either `kafka` or `config` with its brokers');
  }
  return new Kafka({
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    logCreator: kafkaJsLogCreator(logger),
    logLevel: kafkaJsLogLevel(logger),
    socketFactory,
    ...config,
    clientId,
  });
}

const groupUses = [
  apiUses.findCoordinator,
  apiUses.joinGroup,
  apiUses.syncGroup,
  apiUses.heartbeat,
  apiUses.leaveGroup,
  apiUses.offsetCommit,
  apiUses.offsetFetch,
];
const staticGroupUses = [
  apiUses.joinGroupStatic,
  apiUses.syncGroupStatic,
  apiUses.heartbeatStatic,
  apiUses.offsetCommitStatic,
];
const fetchUses = [apiUses.metadata, apiUses.fetch, apiUses.listOffsets];
const produceUses = [apiUses.metadata, apiUses.produce, apiUses.initProducerId];
const transactionUses = [
  apiUses.metadata,
  apiUses.produce,
  apiUses.findCoordinator,
  apiUses.initTransactions,
  apiUses.addPartitionsToTransaction,
  apiUses.addOffsetsToTransaction,
  apiUses.commitOffsetsInTransaction,
  apiUses.endTransaction,
];
const adminUses = [
  apiUses.metadata,
  apiUses.createTopics,
  apiUses.deleteRecords,
  apiUses.describeConfigs,
];

function usesOfCompression({ compression }: ProducerOptions): readonly AnyApiUse[] {
  return compression === 'zstd' ? [apiUses.produceZstd] : [];
}

class KafkaJsClient implements KafkaClient {
  readonly #kafka: Kafka;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #requestTimeoutMs: number;
  /** How each open part is ended. */
  readonly #closers: ((timeoutMs: number) => Promise<void>)[] = [];
  #admin: AdminPort | null = null;

  constructor(options: KafkaJsClientOptions, kafka: Kafka) {
    this.#kafka = kafka;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? systemRandom;
    this.#logger = options.logger;
    this.#requestTimeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  }

  group(options: GroupOptions): GroupPort {
    const uses = options.groupInstanceId === null ? groupUses : [...groupUses, ...staticGroupUses];
    const member = new GroupMember(this.#context('group', uses), options);
    this.#closers.push((timeoutMs) => member.leave(timeoutMs));
    return member;
  }

  fetcher(options: FetcherOptions): FetchPort {
    const fetcher = new Fetcher(this.#context('fetcher', fetchUses), options);
    this.#closers.push((timeoutMs) => fetcher.close(timeoutMs));
    return fetcher;
  }

  producer(options: ProducerOptions): ProducerPort {
    const uses = [...produceUses, ...usesOfCompression(options)];
    const producer = new Producer(this.#context('producer', uses), options);
    this.#closers.push((timeoutMs) => producer.close(timeoutMs));
    return producer;
  }

  transactionalProducer(options: TransactionalProducerOptions): TransactionalProducerPort {
    const uses = [...transactionUses, ...usesOfCompression(options)];
    const producer = new TransactionalProducer(this.#context('producer', uses), options);
    this.#closers.push((timeoutMs) => producer.close(timeoutMs));
    return producer;
  }

  admin(): AdminPort {
    if (this.#admin !== null) return this.#admin;
    const context = this.#context('admin', adminUses);
    const sleeper = new Sleeper(this.#clock);
    this.#closers.push((timeoutMs) => {
      sleeper.close();
      return context.transport.close(timeoutMs);
    });
    return (this.#admin = new Admin({ ...context, sleeper }));
  }

  cluster(timeoutMs: number): ClusterAdmin {
    // What a broker does not speak fails the call that needs it, and no other.
    const context = this.#context('cluster', [apiUses.metadata]);
    const sleeper = new Sleeper(this.#clock);
    this.#closers.push((closeTimeoutMs) => {
      sleeper.close();
      return context.transport.close(closeTimeoutMs);
    });
    return new ClusterAdmin({ ...context, sleeper, timeoutMs });
  }

  async close(timeoutMs: number): Promise<void> {
    await Promise.all(this.#closers.splice(0).map((close) => close(timeoutMs)));
  }

  #context(part: string, requiredUses: readonly AnyApiUse[]) {
    const clock = this.#clock;
    const random = this.#random;
    const logger = this.#logger.child({ client: part });
    const cluster = newCluster(this.#kafka);
    const transport = new KafkaJsTransport({ cluster, requiredUses, clock, random, logger });
    return { transport, clock, random, logger, requestTimeoutMs: this.#requestTimeoutMs };
  }
}
