/** The broker's own thread; started by `startBroker`, speaks `worker-messages.ts` with it. */
import { parentPort, workerData } from 'node:worker_threads';
import { nodeDisk, systemClock, systemRandom, WorkerThread } from '@millrace/compaction';
import { pino } from 'pino';
import { Broker } from './broker.ts';
import { parseBrokerConfig } from './config.ts';
import { BrokerInvariantError } from './errors.ts';
import {
  toErrorMessage,
  type FromWorker,
  type ToWorker,
  type WorkerData,
} from './worker-messages.ts';

const port = parentPort;
if (port === null) throw new BrokerInvariantError('broker-worker is not a program of its own');
const { dataDir, host, port: listenPort, config, logLevel } = workerData as WorkerData;

function send(message: FromWorker): void {
  port?.postMessage(message);
}

const logger = pino(
  { level: logLevel, base: null },
  {
    write(line: string) {
      send({ type: 'log', line });
    },
  },
);

try {
  const broker = await Broker.start({
    dataDir,
    host,
    port: listenPort,
    config: parseBrokerConfig(config),
    clock: systemClock,
    disk: nodeDisk,
    random: systemRandom,
    logger,
    newCleanerThread: (settings) => new WorkerThread(settings),
  });
  port.on('message', (message: ToWorker) => {
    if (message.type === 'ask') {
      broker[message.question]().then(
        (answer) => {
          send({ type: 'answer', id: message.id, answer });
        },
        (error: unknown) => {
          send({ type: 'refused', id: message.id, error: toErrorMessage(error) });
        },
      );
      return;
    }
    logger.debug('asked to stop');
    // How it went is told below.
    broker.close().catch((error: unknown) => {
      logger.debug({ err: error }, 'the broker did not stop cleanly');
    });
  });
  send({ type: 'ready', port: broker.port, clusterId: broker.clusterId });
  await broker.stopped;
  // Asked again it tells how it went, also when the command line stopped it.
  await broker.close().then(
    () => {
      send({ type: 'stopped', error: null });
    },
    (error: unknown) => {
      send({ type: 'stopped', error: toErrorMessage(error) });
    },
  );
} catch (error) {
  send({ type: 'failed', error: toErrorMessage(error) });
}
port.close();
