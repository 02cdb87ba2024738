import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs';
import { join } from 'node:path';
import { connect, createLogger, type KafkaClient } from '@millrace/runtime';
import { pino } from 'pino';
import { SeededRandom } from '../../golden/fuzz/random.ts';
import { Blows } from './blows.ts';
import { checkChangelogs } from './changelogs.ts';
import type { ChaosCluster } from './cluster.ts';
import { committedOffsets } from './committed-offsets.ts';
import { EmbeddedCluster } from './embedded-cluster.ts';
import { Feed } from './feed.ts';
import { Findings } from './findings.ts';
import { Instance } from './instance.ts';
import { instanceStates, type Durations, type InstanceState } from './instance-states.ts';
import { KafkaCluster } from './kafka-cluster.ts';
import { Model } from './model.ts';
import { OutputReader } from './output-reader.ts';
import { isKill, planBlows, type Blow } from './plan.ts';
import { Results } from './results.ts';
import { StallingProxy } from './stalling-proxy.ts';
import { INPUT_TOPICS, OUTPUT_TOPICS, outputNames, PARTITIONS, storeNames } from './topics.ts';
import type { StoreTypes } from './topology.ts';
import { until, within } from './within.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** Of instances and of the broker, together; more, where a state has not had its least by then. */
  readonly kills: number;
  readonly broker: 'embedded' | 'kafka';
  /** For data, state and logs. */
  readonly directory: string;
  readonly say: (line: string) => void;
}

export interface ChaosReport {
  readonly findings: Findings;
  /** Kills by what the instance was doing. */
  readonly kills: Readonly<Record<InstanceState | 'other', number>>;
  readonly brokerKills: number;
  readonly stalls: number;
  readonly longStalls: number;
  readonly fenced: number;
  readonly orders: number;
  readonly results: number;
  /** Records of the outputs that were written and undone. */
  readonly aborted: number;
}

const INSTANCES = 3;
const ACCOUNTS = 60;
const SHOPS = 12;
const ORDERS_PER_SECOND = { embedded: 400, kafka: 200 } as const;
/** Of each state, so many of all kills at least. */
const MINIMUM_SHARE = 12;
/** With so many times the kills that were asked for, each state must have had its own. */
const ATTEMPTS_PER_KILL = 2;
const WARM_UP_MS = 1_500;
const PAUSE_MAX_MS = 600;
const DRAIN_DEADLINE_MS = 120_000;
/** Nothing came out for so long, though something should: the run is over. */
const STALLED_MS = 90_000;
const WATCH_MS = 500;
const CLOSE_MS = 20_000;
const STOP_ALL_DEADLINE_MS = 60_000;

/**
 * Kills, freezes and cuts off instances of an application that processes exactly once, and its broker, at moments
 * drawn from the seed, while orders flow; holds each result against the model when it is read, and at the end all
 * that is stored. A seed draws the same blows each time, as parts of what a state lasts.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  return new Chaos(options).run();
}

class Chaos {
  readonly #options: ChaosOptions;
  readonly #random: SeededRandom;
  readonly #logDir: string;
  readonly #log: WriteStream;
  readonly #findings = new Findings();
  readonly #model = new Model(ACCOUNTS, SHOPS);
  readonly #results = new Results(this.#model, this.#findings);
  /** To begin with; learned as it goes on. */
  readonly #durations: Durations = {
    processing: 80,
    committing: 10,
    purging: 3,
    restoring: 50,
    rebalancing: 50,
  };
  #blows: Blows | null = null;
  #isOver = false;
  #abortedCount = 0;

  constructor(options: ChaosOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#logDir = join(options.directory, 'logs');
    mkdirSync(this.#logDir, { recursive: true });
    this.#log = createWriteStream(join(this.#logDir, 'chaos.log'));
  }

  async run(): Promise<ChaosReport> {
    const { broker, directory } = this.#options;
    this.#say(`logs in ${this.#logDir}`);
    const cluster =
      broker === 'embedded'
        ? await EmbeddedCluster.start(join(directory, 'data'), this.#logDir)
        : await KafkaCluster.start();
    const clientLog = pino.destination({ dest: join(this.#logDir, 'client.log') });
    const client = connect(
      { 'bootstrap.servers': cluster.bootstrapServers },
      { logger: createLogger({ level: 'debug' }, clientLog) },
    );
    const proxies: StallingProxy[] = [];
    let instances: readonly Instance[] = [];
    const watch = this.#watch();
    try {
      for (let i = 0; i < INSTANCES; i++) proxies.push(await StallingProxy.open(cluster.ports));
      instances = this.#instances(cluster, proxies);
      await this.#play(cluster, client, instances);
    } catch (error) {
      this.#findings.add('broken', String((error as Error).stack));
    } finally {
      clearInterval(watch);
      this.#isOver = true;
      for (const instance of instances) {
        instance.thaw();
        await instance.kill();
      }
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await client.close(CLOSE_MS);
      clientLog.end();
      for (const line of await cluster.stop(this.#logDir)) this.#findings.add('broken', line);
      for (const line of this.#findings.shown) this.#log.write(`${line}\n`);
      this.#log.end();
    }
    return this.#report();
  }

  async #play(
    cluster: ChaosCluster,
    client: KafkaClient,
    instances: readonly Instance[],
  ): Promise<void> {
    await createTopics(client, cluster);
    const blows = new Blows({
      cluster,
      instances,
      durations: this.#durations,
      random: this.#random,
      say: (line) => this.#say(line),
      isOver: () => this.#isOver,
    });
    this.#blows = blows;
    const reader = new OutputReader(client, this.#results, this.#findings);
    const rate = ORDERS_PER_SECOND[this.#options.broker];
    const feed = await Feed.open(client, this.#model, this.#results, this.#findings, rate);
    try {
      for (const instance of instances) instance.start();
      await feed.start();
      await blows.settle();
      await pause(WARM_UP_MS);
      await this.#strikeAll(blows);
      await blows.settle();
      await feed.stop();
      await this.#drained('what was written');
      this.#say('asking every row of every store for its next value');
      await feed.probe();
      await this.#drained('one more order per row');
      await stopAll(instances);
      this.#say('once more, by instances that restore all of it from the changelogs');
      for (const instance of instances) {
        instance.start({ stateDir: this.#stateDir(`${instance.name}-fresh`) });
      }
      await feed.probe();
      await this.#drained('one more order per restored row');
      await stopAll(instances);
    } finally {
      await feed.close();
      await reader.close();
    }
    this.#results.findMissing();
    const { isCompacting: isCompacted } = cluster;
    await checkChangelogs(client, this.#model, this.#results, this.#findings, { isCompacted });
    await this.#checkVisible(client, reader);
  }

  /** What a reader of committed records was given is what the markers say, no more and no less. */
  async #checkVisible(client: KafkaClient, reader: OutputReader): Promise<void> {
    for (const output of outputNames) {
      const topic = OUTPUT_TOPICS[output];
      const { committed, abortedCount, openCount } = await committedOffsets(
        client,
        topic,
        PARTITIONS,
      );
      this.#abortedCount += abortedCount;
      if (openCount > 0) {
        this.#findings.add('broken', `${topic}: ${openCount} records of transactions without end`);
      }
      for (const [partition, offsets] of committed) {
        const where = `${topic}-${partition}`;
        const read = new Set(reader.offsets.get(where));
        for (const offset of offsets) {
          if (!read.delete(offset)) {
            this.#findings.add('lost', `${where} at ${offset}: committed, and not read`);
          }
        }
        for (const offset of read) {
          this.#findings.add('wrong', `${where} at ${offset}: read, and not committed`);
        }
      }
    }
  }

  async #strikeAll(blows: Blows): Promise<void> {
    const { kills } = this.#options;
    const minimum = minimumOf(kills);
    const missing = (): InstanceState[] =>
      instanceStates.filter((state) => blows.kills[state] < minimum);
    const isWanted = (blow: Blow): boolean => {
      if (blows.killCount < kills) return true;
      if (blow.kind === 'kill-broker') return isBrokerMissing();
      return blow.kind === 'kill' && missing().includes(blow.state);
    };
    const isBrokerMissing = (): boolean => blows.brokerKills < minimum;
    const isDone = (): boolean =>
      blows.killCount >= kills && missing().length === 0 && !isBrokerMissing();
    let attempts = 0;
    for (const blow of planBlows(this.#random, INSTANCES)) {
      if (isDone() || attempts >= ATTEMPTS_PER_KILL * kills) break;
      if (this.#isOver || !this.#findings.isEmpty) return;
      if (!isWanted(blow)) continue;
      if (isKill(blow)) attempts++;
      await blows.strike(blow);
      await pause(blow.fraction * PAUSE_MAX_MS);
    }
    for (const state of missing()) {
      this.#findings.add('broken', `only ${blows.kills[state]} kills of ${minimum} hit ${state}`);
    }
    if (isBrokerMissing()) {
      this.#findings.add('broken', `only ${blows.brokerKills} kills of ${minimum} hit the broker`);
    }
  }

  async #drained(what: string): Promise<void> {
    const isDone = (): boolean => this.#results.total >= this.#results.expectedTotal;
    try {
      await until(DRAIN_DEADLINE_MS, () => this.#isOver || isDone(), `the results of ${what}`);
    } catch (error) {
      // What is missing is told by its names.
      this.#findings.add('broken', String(error));
    }
    if (isDone()) return;
    throw new Error(
      `${this.#results.total} results of ${what} came, ${this.#results.expectedTotal} should`,
    );
  }

  #instances(cluster: ChaosCluster, proxies: readonly StallingProxy[]): Instance[] {
    const storeTypes = this.#storeTypes();
    return proxies.map((proxy, index) => {
      const name = `instance-${index + 1}`;
      // The first is static and the second is not; the third is drawn.
      const isStatic = index === 0 || (index === 2 && this.#random.oneIn(2));
      const threads = index === 1 ? 2 : 1;
      this.#say(`${name}: ${isStatic ? 'static' : 'dynamic'}, ${threads} thread(s)`);
      return new Instance({
        name,
        proxy,
        logDir: this.#logDir,
        durations: this.#durations,
        app: {
          bootstrapServers: cluster.bootstrapServers,
          stateDir: this.#stateDir(name),
          groupInstanceId: isStatic ? name : null,
          storeTypes,
          redirects: proxy.redirects,
          threads,
        },
        onState: (instance, state) => this.#blows?.onState(instance, state),
        onFault: (fault) => this.#findings.add('broken', fault),
      });
    });
  }

  /** Half of the stores in memory, half on disk. */
  #storeTypes(): StoreTypes {
    const left = [...storeNames];
    const inMemory = new Set([0, 1].map(() => left.splice(this.#random.int(left.length), 1)[0]));
    this.#say(`in memory: ${[...inMemory].join(', ')}; on disk: ${left.join(', ')}`);
    return Object.fromEntries(
      storeNames.map((name) => [name, inMemory.has(name) ? 'inMemory' : 'persistent'] as const),
    ) as Record<(typeof storeNames)[number], 'inMemory' | 'persistent'>;
  }

  #stateDir(name: string): string {
    return join(this.#options.directory, 'state', name);
  }

  #watch(): NodeJS.Timeout {
    let [last, lastMs] = [0, performance.now()];
    return setInterval(() => {
      const { total, expectedTotal } = this.#results;
      if (total !== last || total >= expectedTotal) [last, lastMs] = [total, performance.now()];
      if (this.#isOver || performance.now() - lastMs < STALLED_MS) return;
      this.#isOver = true;
      this.#findings.add('broken', `nothing came out for ${STALLED_MS} ms`);
    }, WATCH_MS);
  }

  #report(): ChaosReport {
    const blows = this.#blows;
    if (blows === null) throw new Error(this.#findings.shown.join('\n'));
    return {
      findings: this.#findings,
      kills: blows.kills,
      brokerKills: blows.brokerKills,
      stalls: blows.stalls,
      longStalls: blows.longStalls,
      fenced: blows.fenced,
      orders: this.#model.orderCount,
      results: this.#results.total,
      aborted: this.#abortedCount,
    };
  }

  #say(line: string): void {
    this.#log.write(`${new Date().toISOString()} ${line}\n`);
    this.#options.say(line);
  }
}

/** Of each state, and of the broker's. */
export function minimumOf(kills: number): number {
  return Math.max(1, Math.floor(kills / MINIMUM_SHARE));
}

async function createTopics(client: KafkaClient, cluster: ChaosCluster): Promise<void> {
  await client.admin().createTopics(
    [...INPUT_TOPICS, ...Object.values(OUTPUT_TOPICS)].map((topic) => ({
      topic,
      partitionCount: PARTITIONS,
      replicationFactor: cluster.replicationFactor,
      config: new Map([['retention.ms', '-1']]),
    })),
  );
}

async function stopAll(instances: readonly Instance[]): Promise<void> {
  await within(
    STOP_ALL_DEADLINE_MS,
    Promise.all(instances.map((instance) => instance.stop())),
    'the stop of all instances',
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
