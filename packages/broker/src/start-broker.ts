import {
  nodeDisk,
  systemClock,
  systemRandom,
  WorkerThread,
  type Clock,
} from '@millrace/compaction';
import { pino, type Logger } from 'pino';
import { Broker } from './broker.ts';
import { parseBrokerConfig, type BrokerConfigInput } from './config.ts';
import type { EmbeddedBroker, RunningBroker } from './embedded-broker.ts';
import { bootstrapServersOf, checkLoopback } from './server/loopback.ts';
import { makeTemporaryDirectory, removeDirectory } from './server/temporary-directory.ts';
import { startWorker } from './worker-broker.ts';

export interface StartBrokerOptions {
  /** Kept when the broker closes. Left out: a temporary directory, removed on close. */
  readonly dataDir?: string;
  /** Left out or 0: a free port. */
  readonly port?: number;
  /** A loopback address; 127.0.0.1 by default. */
  readonly host?: string;
  /** Broker configuration under Kafka's names, such as `num.partitions`. */
  readonly config?: BrokerConfigInput;
  /** Where the broker's log lines go; nowhere by default. Nothing above info on a clean run. */
  readonly logger?: Logger;
  /** Run in this thread rather than one of its own: for tests, and for those who have one core. */
  readonly inProcess?: boolean;
  /** With `inProcess` only: the time that the broker lives by. */
  readonly clock?: Clock;
}

/**
 * Starts a broker on loopback, in a worker thread unless told otherwise, and resolves when clients can
 * connect.
 *
 * @throws ConfigError listing every wrong configuration key, before anything is touched.
 * @throws BrokerStartError when the port is taken, the directory is locked by another broker or damaged.
 */
export async function startBroker(options: StartBrokerOptions = {}): Promise<EmbeddedBroker> {
  const { host = '127.0.0.1', port = 0, config = {} } = options;
  const logger = options.logger ?? pino({ level: 'silent' });
  const parsed = parseBrokerConfig(config);
  checkLoopback(host);
  const isTemporary = options.dataDir === undefined;
  const dataDir = options.dataDir ?? (await makeTemporaryDirectory());
  const tidy = async (): Promise<void> => {
    if (isTemporary) await removeDirectory(dataDir);
  };
  let running: RunningBroker;
  try {
    running =
      options.inProcess === true
        ? await Broker.start({
            dataDir,
            host,
            port,
            config: parsed,
            clock: options.clock ?? systemClock,
            disk: nodeDisk,
            random: systemRandom,
            logger,
            newCleanerThread: (settings) => new WorkerThread(settings),
          })
        : await startWorker({ dataDir, host, port, config, logLevel: logger.level }, logger);
  } catch (error) {
    await tidy();
    throw error;
  }
  const close = async (): Promise<void> => {
    await running.close();
    await tidy();
  };
  let closing: Promise<void> | null = null;
  return {
    host,
    port: running.port,
    bootstrapServers: bootstrapServersOf(host, running.port),
    dataDir,
    clusterId: running.clusterId,
    closed: running.stopped,
    metrics: () => running.metrics(),
    cleanerStatus: () => running.cleanerStatus(),
    close: () => (closing ??= close()),
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}
