import { createWriteStream, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { BrokerProcess } from '../broker-process.ts';
import type { ChaosCluster } from './cluster.ts';
import { within } from './within.ts';

const STOP_DEADLINE_MS = 30_000;

const CONFIG = {
  'offsets.topic.num.partitions': 4,
  'transaction.state.log.num.partitions': 4,
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': 500,
  // Compaction while the run goes on, also of what the coordinators live from.
  'offsets.topic.segment.bytes': 50_000,
  'transaction.state.log.segment.bytes': 50_000,
  'log.cleaner.backoff.ms': 500,
  'log.segment.delete.delay.ms': 1_000,
};

/** The embedded broker in a process of its own, always on the same directory and port. */
export class EmbeddedCluster implements ChaosCluster {
  readonly replicationFactor = -1;
  readonly isCompacting = true;
  readonly #dataDir: string;
  readonly #log: WriteStream;
  readonly #faults: string[] = [];
  #broker: BrokerProcess;

  private constructor(dataDir: string, log: WriteStream, broker: BrokerProcess) {
    this.#dataDir = dataDir;
    this.#log = log;
    this.#broker = broker;
  }

  static async start(dataDir: string, logDir: string): Promise<EmbeddedCluster> {
    const log = createWriteStream(join(logDir, 'broker.log'));
    const broker = await start(dataDir, 0, log);
    return new EmbeddedCluster(dataDir, log, broker);
  }

  get bootstrapServers(): string {
    return `127.0.0.1:${this.#broker.port}`;
  }

  get ports(): readonly number[] {
    return [this.#broker.port];
  }

  async kill(): Promise<string> {
    await this.#broker.kill();
    this.#faults.push(...this.#broker.faults);
    return 'the broker';
  }

  async restart(): Promise<void> {
    this.#broker = await start(this.#dataDir, this.#broker.port, this.#log);
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<readonly string[]> {
    try {
      await within(STOP_DEADLINE_MS, this.#broker.stop(), 'the stop of the broker');
    } finally {
      await this.#broker.kill();
      this.#log.end();
    }
    return [...this.#faults, ...this.#broker.faults].filter((line) => !TORN_TAIL.test(line));
  }
}

/** The write that a broker was killed in is taken back, and it says so. */
const TORN_TAIL = /the end of a segment was damaged and has been cut off/;

function start(dataDir: string, port: number, log: WriteStream): Promise<BrokerProcess> {
  return BrokerProcess.start({ dataDir, port, config: CONFIG }, (line) => log.write(`${line}\n`));
}
