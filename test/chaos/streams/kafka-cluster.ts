import { copyFileSync, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, silentLogger, type KafkaClient } from '@millrace/runtime';
import type { SeededRandom } from '../../golden/fuzz/random.ts';
import { startKafka, type RunningKafka } from '../../support/kafka/start-kafka.ts';
import type { ChaosCluster } from './cluster.ts';

const NODES = 3;
const SETTLE_DEADLINE_MS = 90_000;
const SETTLE_POLL_MS = 250;
const CALL_TIMEOUT_MS = 30_000;

const CONFIG = {
  // What is acknowledged is on two nodes, of which one lives.
  'default.replication.factor': '3',
  'min.insync.replicas': '2',
  'transaction.state.log.min.isr': '2',
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': '500',
  'replica.lag.time.max.ms': '5000',
  // Compaction while the run goes on.
  'log.cleaner.backoff.ms': '500',
  'log.segment.delete.delay.ms': '1000',
};

/** Three nodes of a real Kafka, of which one at a time dies and comes back: leaders and coordinators move. */
export class KafkaCluster implements ChaosCluster {
  readonly replicationFactor = NODES;
  readonly isCompacting = true;
  readonly #kafka: RunningKafka;
  readonly #client: KafkaClient;
  #dead: number | null = null;

  private constructor(kafka: RunningKafka) {
    this.#kafka = kafka;
    this.#client = connect(
      { 'bootstrap.servers': kafka.bootstrapServers },
      { logger: silentLogger() },
    );
  }

  static async start(): Promise<KafkaCluster> {
    return new KafkaCluster(await startKafka({ nodes: NODES, config: CONFIG }));
  }

  get bootstrapServers(): string {
    return this.#kafka.bootstrapServers;
  }

  get ports(): readonly number[] {
    return this.bootstrapServers.split(',').map((server) => Number(server.split(':')[1]));
  }

  async kill(random: SeededRandom): Promise<string> {
    const node = 1 + random.int(NODES);
    this.#dead = node;
    await this.#kafka.kill(node);
    return `node ${node}`;
  }

  async restart(): Promise<void> {
    const node = this.#dead;
    this.#dead = null;
    if (node !== null) await this.#kafka.restart(node);
  }

  /** Every replica is in sync again: what is acknowledged from here on survives any node. */
  async settled(): Promise<void> {
    const deadline = performance.now() + SETTLE_DEADLINE_MS;
    let lagging: string[];
    do {
      const topics = await this.#client.cluster(CALL_TIMEOUT_MS).topics.list();
      lagging = topics.flatMap(({ topic, partitions }) =>
        partitions
          .filter(({ replicas, inSyncReplicas }) => inSyncReplicas.length < replicas.length)
          .map(({ partition }) => `${topic}-${partition}`),
      );
      if (lagging.length === 0) return;
      await sleep(SETTLE_POLL_MS);
    } while (performance.now() < deadline);
    throw new Error(`not in sync within ${SETTLE_DEADLINE_MS} ms: ${lagging.join(', ')}`);
  }

  async stop(logDir: string): Promise<readonly string[]> {
    await this.#client.close(CALL_TIMEOUT_MS);
    for (let node = 1; node <= NODES; node++) {
      const log = join(dirname(this.#kafka.dataDir(node)), 'server.log');
      if (existsSync(log)) copyFileSync(log, join(logDir, `node-${node}.log`));
    }
    await this.#kafka.close();
    return [];
  }
}
