import {
  LogCleaner,
  LogDir,
  LogStoreError,
  LONG_MAX,
  parseLogConfig,
  type CleanerMetric as BrokerMetric,
  type CleanerStatus,
  type Clock,
  type Disk,
  type NewCleanerThread,
  type Random,
} from '@millrace/compaction';
import { randomUuid } from '@millrace/protocol';
import type { Logger } from 'pino';
import { adminCommands } from './admin-commands.ts';
import { BackgroundTasks } from './background-tasks.ts';
import { BrokerConfigs } from './broker-configs.ts';
import { checkThreads, cleanerSettingsOf, type ParsedBrokerConfig } from './config.ts';
import { createGroups } from './create-groups.ts';
import { createTransactions } from './create-transactions.ts';
import { BrokerError, BrokerStartError, BrokerStoppedError } from './errors.ts';
import { FetchPurgatory } from './fetch/purgatory.ts';
import { allHandlers } from './handlers/all-handlers.ts';
import { AdminSocket } from './server/admin-socket.ts';
import { Dispatcher } from './server/dispatch.ts';
import { bootstrapServersOf, checkLoopback } from './server/loopback.ts';
import { ResponseMemory } from './server/response-memory.ts';
import { BrokerServer } from './server/server.ts';
import type { BrokerServices } from './services.ts';
import { StorageErrors } from './storage-errors.ts';
import { internalTopic } from './topics/internal-topics.ts';
import { TopicRegistry } from './topics/registry.ts';
import { TopicsFile } from './topics/topics-file.ts';
import { ProducerIds } from './transactions/producer-ids.ts';

export interface BrokerOptions {
  readonly dataDir: string;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly config: ParsedBrokerConfig;
  readonly clock: Clock;
  readonly disk: Disk;
  readonly random: Random;
  readonly logger: Logger;
  /** Where passes of the cleaner run: they need to see the disk. */
  readonly newCleanerThread: NewCleanerThread;
}

/** What ends one part of the broker. */
type Closer = () => Promise<void> | void;

/**
 * One broker over one data directory, in this thread.
 *
 * ```
 *  start: lock and recover logs → topics → producer ids → groups → transactions → server → admin socket
 *         → tasks, cleaner
 *  stop:  the same backwards; requests in hand are answered, logs are flushed and marked clean
 * ```
 */
export class Broker {
  readonly host: string;
  readonly port: number;
  readonly clusterId: string;
  /** Resolves when the broker has stopped, whoever asked for it, however it went. */
  readonly stopped: Promise<void>;
  readonly #closers: Closer[];
  readonly #cleaner: LogCleaner;
  readonly #logger: Logger;
  #resolveStopped: () => void = () => undefined;
  #stopping: Promise<void> | null = null;

  private constructor(
    options: BrokerOptions,
    port: number,
    clusterId: string,
    closers: Closer[],
    cleaner: LogCleaner,
  ) {
    this.host = options.host;
    this.port = port;
    this.clusterId = clusterId;
    this.#closers = closers;
    this.#cleaner = cleaner;
    this.#logger = options.logger;
    this.stopped = new Promise((resolve) => {
      this.#resolveStopped = resolve;
    });
  }

  /** Rejects with BrokerStartError; whatever was opened by then is closed again. */
  static async start(options: BrokerOptions): Promise<Broker> {
    checkLoopback(options.host);
    const closers: Closer[] = [];
    try {
      return await Broker.#open(options, closers);
    } catch (error) {
      try {
        await closeAll(closers);
      } catch (closeError) {
        options.logger.warn({ err: closeError }, 'what a failed start had opened did not close');
      }
      throw startError(error);
    }
  }

  static async #open(options: BrokerOptions, closers: Closer[]): Promise<Broker> {
    const { dataDir, host, clock, disk, random, logger } = options;
    const { config } = options.config;
    const startedMs = clock.monotonicMs();

    // Read once the directory is ours: by the first log that asks, or right after.
    let topicsFile: TopicsFile | null = null;
    const loadTopicsFile = (): TopicsFile => (topicsFile ??= TopicsFile.load(disk, dataDir));
    let brokerConfigs: BrokerConfigs | null = null;
    const loadConfigs = (): BrokerConfigs =>
      (brokerConfigs ??= BrokerConfigs.load(disk, dataDir, options.config));
    const logDir = await LogDir.open(dataDir, {
      clock,
      disk,
      random,
      logger,
      nodeId: config['node.id'],
      configOf: (topic) =>
        parseLogConfig(loadTopicsFile().configsOf(topic), loadConfigs().effective),
      producerExpirationMs: config['producer.id.expiration.ms'],
    });
    closers.push(() => logDir.close());
    const configs = loadConfigs();
    const cleaner = new LogCleaner({
      logDir,
      clock,
      logger,
      settings: cleanerSettingsOf(configs.parsed.config),
      newThread: options.newCleanerThread,
    });
    const topics = new TopicRegistry({
      logDir,
      cleaner,
      file: loadTopicsFile(),
      defaults: configs.effective,
      newTopicId: () => randomUuid((target) => random.bytes(16).copy(target)),
      internalTopic: (name) => internalTopic(name, config),
      logger,
    });
    await topics.load();
    configs.onChange({
      check: (next) => {
        topics.checkDefaults(next.given);
        checkThreads(configs.parsed.config, next.config);
      },
      changed: async (next) => {
        await cleaner.reconfigure(cleanerSettingsOf(next.config));
        await topics.applyDefaults();
      },
    });
    const producerIds = ProducerIds.load(disk, dataDir);
    for (const log of logDir.logs()) {
      for (const { producerId } of log.producers()) producerIds.markUsed(producerId);
    }

    const purgatory = new FetchPurgatory(clock);
    topics.onPartition((partition) => {
      partition.log.onAppend(() => {
        purgatory.wake(partition);
      });
    });
    const groups = createGroups(topics, config, clock, logger, () => uuid36(random.bytes(16)));
    groups.load();
    closers.push(() => {
      groups.close();
    });
    const storageErrors = new StorageErrors(clock, logger);
    const transactions = createTransactions({
      topics,
      groups,
      producerIds,
      config,
      clock,
      logger,
      storageErrors,
    });
    closers.push(() => transactions.close());
    await transactions.load();
    topics.onDeleted((topic) => {
      for (const partition of topic.partitions) purgatory.partitionGone(partition);
      groups.onTopicDeleted(topic.name);
    });

    const node = { nodeId: config['node.id'], clusterId: logDir.clusterId, host, port: 0 };
    const responseMemory = new ResponseMemory();
    const services: BrokerServices = {
      node,
      config,
      configs,
      clock,
      logger,
      storageErrors,
      topics,
      cleaner,
      purgatory,
      responseMemory,
      groups,
      producerIds,
      transactions,
    };
    const server = new BrokerServer({
      dispatcher: new Dispatcher(allHandlers(), services),
      clock,
      logger,
      maxRequestBytes: config['socket.request.max.bytes'],
      maxConnections: config['max.connections'],
      maxIdleMs: config['connections.max.idle.ms'],
      maxQueuedRequestBytes: config['queued.max.request.bytes'],
      responseMemory,
    });
    node.port = await server.listen(options.port, host);
    closers.push(async () => {
      const stopped = server.stop();
      purgatory.close();
      groups.close();
      await stopped;
    });

    const broker = new Broker(options, node.port, logDir.clusterId, closers, cleaner);
    const admin = new AdminSocket(
      adminCommands({
        broker: services,
        logDir,
        dataDir,
        startedMs,
        connectionCount: () => server.connectionCount,
        stop: () => {
          broker.#stopOnRequest();
        },
      }),
      logger,
    );
    closers.push(() => admin.close());
    await admin.listen(dataDir);

    const tasks = new BackgroundTasks(clock, logger);
    closers.push(() => tasks.stop());
    const firstMs = config['log.initial.task.delay.ms'];
    tasks.every('retention', firstMs, config['log.retention.check.interval.ms'], async () => {
      await logDir.runRetention(
        // The cleaner does it for compacted logs; and nothing is cut under a pass.
        (log) =>
          !(log.config.cleanupPolicy.compact && cleaner.isStarted) && !cleaner.isCleaning(log),
      );
    });
    tasks.every(
      'checkpoint',
      firstMs,
      Math.min(
        config['log.flush.offset.checkpoint.interval.ms'],
        config['log.flush.start.offset.checkpoint.interval.ms'],
      ),
      () => logDir.checkpoint(),
    );
    tasks.every(
      'producer expiration',
      config['producer.id.expiration.check.interval.ms'],
      config['producer.id.expiration.check.interval.ms'],
      () => {
        logDir.expireProducers();
      },
    );
    tasks.every(
      'transaction timeouts',
      config['transaction.abort.timed.out.transaction.cleanup.interval.ms'],
      config['transaction.abort.timed.out.transaction.cleanup.interval.ms'],
      () => transactions.abortTimedOut(),
    );
    tasks.every(
      'transactional id expiration',
      config['transaction.remove.expired.transaction.cleanup.interval.ms'],
      config['transaction.remove.expired.transaction.cleanup.interval.ms'],
      () => transactions.expireIds(),
    );
    const flushMs = config['log.flush.scheduler.interval.ms'];
    if (config['log.cleaner.enable']) {
      cleaner.start();
      closers.push(() => cleaner.close());
    }
    if (flushMs < LONG_MAX) tasks.every('flush', flushMs, flushMs, () => logDir.flushDueLogs());
    logger.info(
      { bootstrapServers: bootstrapServersOf(host, node.port), dataDir, topics: topics.size },
      'broker is ready',
    );
    return broker;
  }

  async metrics(): Promise<readonly BrokerMetric[]> {
    this.#ensureRunning();
    return this.#cleaner.metrics();
  }

  async cleanerStatus(): Promise<CleanerStatus> {
    this.#ensureRunning();
    return this.#cleaner.status();
  }

  #ensureRunning(): void {
    if (this.#stopping !== null) throw new BrokerStoppedError();
  }

  /** Ends in bounded time; later calls share the first one's result. Rejects if it was not clean. */
  close(): Promise<void> {
    if (this.#stopping === null) {
      this.#logger.info('broker is stopping');
      this.#stopping = closeAll(this.#closers)
        .then(() => {
          this.#logger.info('broker has stopped');
        })
        .finally(() => {
          this.#resolveStopped();
        });
    }
    return this.#stopping;
  }

  #stopOnRequest(): void {
    this.close().catch((error: unknown) => {
      this.#logger.error({ err: error }, 'the broker did not stop cleanly');
    });
  }
}

/** Last opened, first closed. All are tried; throws the first error. */
async function closeAll(closers: Closer[]): Promise<void> {
  const errors: unknown[] = [];
  for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) {
    try {
      await closer();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

/** The log store's errors keep their code and text. */
function startError(error: unknown): Error {
  if (error instanceof BrokerError) return error;
  if (error instanceof LogStoreError) {
    return new BrokerStartError(error.code, error.message, { cause: error });
  }
  return new BrokerStartError(
    'BROKER_START_FAILED',
    `The broker could not start: ${(error as Error).message}`,
    { cause: error },
  );
}

/** Member ids carry UUIDs in their usual form. */
function uuid36(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
