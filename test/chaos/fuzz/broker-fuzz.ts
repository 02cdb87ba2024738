import {
  ApiVersions,
  CreateTopics,
  DeleteGroups,
  DeleteTopics,
  ListGroups,
  Metadata,
} from '@millrace/protocol';
import { RawClient } from '../../support/raw-client.ts';
import type { Look } from '../broker-app.ts';
import { BrokerProcess } from '../broker-process.ts';
import { type FuzzCase, fuzzCase, servedApis } from './fuzz-case.ts';
import { FuzzConnection } from './fuzz-connection.ts';
import type { Names } from './random-message.ts';
import { SteadyClient } from './steady-client.ts';

export interface BrokerFuzzOptions {
  readonly seed: number;
  readonly cases: number;
  /** The first case; 0 by default. */
  readonly from?: number;
  readonly dataDir: string;
  readonly say: (line: string) => void;
}

export interface BrokerFuzzReport {
  readonly faults: readonly string[];
  /** Of the client beside. */
  readonly steadyRounds: number;
  readonly slowestMs: number;
}

const CONNECTIONS = 6;
/** After so many cases everything that they made is removed, and what is left is looked at. */
const CASES_PER_ROUND = 2_000;
/** What code, caches and logs of the broker's own topics may take more than after the first round, bytes. */
const MOST_GROWTH_BYTES = 32 * 1024 * 1024;
const MOST_MORE_FILES = 40;
/** Processor time at a stretch; others wait as long. */
const LONGEST_TURN_MS = 1_000;
/** On a machine that has other things to do. */
const SLOWEST_ANSWER_MS = 15_000;
/** What takes longer is told. */
const SLOW_CASE_MS = 1_000;
/** Deleted files and closed connections are gone after this, ms. */
const SETTLE_MS = 400;
const CREATED_TOPICS = 3;
const FAULTS_SHOWN = 20;

const names = {
  topics: ['t0', 't1', 't2', 't3', 't4', 'other'],
  groups: ['g0', 'g1', 'g2'],
  members: ['m0', 'm1', 'static'],
  transactions: ['tx0', 'tx1', 'tx2'],
};

/**
 * Hostile requests from several connections against a broker in a process of its own: see
 * docs/testing.md for what must hold.
 */
export async function fuzzBroker(options: BrokerFuzzOptions): Promise<BrokerFuzzReport> {
  const broker = await BrokerProcess.start({
    dataDir: options.dataDir,
    watchesTurns: true,
    config: {
      'offsets.topic.num.partitions': 2,
      'transaction.state.log.num.partitions': 2,
      'log.segment.delete.delay.ms': 50,
      'group.min.session.timeout.ms': 10,
    },
  });
  let steady: SteadyClient | null = null;
  try {
    steady = await SteadyClient.start(broker.port);
    const faults = await new BrokerFuzz(broker, options).run();
    await steady.stop();
    const { roundCount, slowestMs } = steady;
    if (slowestMs > SLOWEST_ANSWER_MS) {
      faults.push(`a client that behaves waited for ${Math.round(slowestMs)} ms`);
    }
    await broker.stop();
    faults.push(...steady.faults, ...broker.faults);
    return { faults: faults.slice(0, FAULTS_SHOWN), steadyRounds: roundCount, slowestMs };
  } finally {
    await steady?.stop();
    await broker.kill();
  }
}

class BrokerFuzz {
  readonly #broker: BrokerProcess;
  readonly #options: BrokerFuzzOptions;
  readonly #faults: string[] = [];
  #next: number;

  constructor(broker: BrokerProcess, options: BrokerFuzzOptions) {
    this.#broker = broker;
    this.#options = options;
    this.#next = options.from ?? 0;
  }

  async run(): Promise<string[]> {
    const { cases, say } = this.#options;
    const end = this.#next + cases;
    const client = await RawClient.connect(`127.0.0.1:${this.#broker.port}`);
    let first: Look | null = null;
    try {
      while (this.#next < end && this.#faults.length === 0 && this.#broker.faults.length === 0) {
        await this.#round(client, Math.min(end, this.#next + CASES_PER_ROUND));
        const look = await this.#settled(client);
        first ??= look;
        say(
          `${this.#next} cases, heap ${mebibytes(look.heapBytes)}, resident ${mebibytes(look.rssBytes)}, ${look.openFiles} files, longest turn ${Math.round(look.longestTurnMs)} ms`,
        );
        this.#compare(first, look);
      }
    } finally {
      client.close();
    }
    return this.#faults;
  }

  async #round(client: RawClient, end: number): Promise<void> {
    const { apiKeys } = await client.send(ApiVersions, 3, {
      clientSoftwareName: 'fuzz',
      clientSoftwareVersion: '1',
    });
    const topicIds = await createTopics(client);
    const served = servedApis(apiKeys);
    const next = (): FuzzCase | null => {
      const hasFault = this.#faults.length > 0 || this.#broker.faults.length > 0;
      if (this.#next >= end || hasFault) return null;
      const known: Names = { ...names, topicIds };
      return fuzzCase(this.#options.seed, this.#next++, served, known);
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, () => this.#worker(next)));
  }

  async #worker(next: () => FuzzCase | null): Promise<void> {
    let connection: FuzzConnection | null = null;
    for (let one = next(); one !== null; one = next()) {
      try {
        if (connection === null || connection.isClosed) {
          connection = await FuzzConnection.open(this.#broker.port);
        }
        const startedMs = performance.now();
        const fault = await connection.run(one);
        const tookMs = Math.round(performance.now() - startedMs);
        if (tookMs > SLOW_CASE_MS)
          this.#options.say(`case ${one.index} (${one.what}) took ${tookMs} ms`);
        if (fault !== null) this.#faults.push(`case ${one.index} (${one.what}): ${fault}`);
      } catch (error) {
        this.#faults.push(`case ${one.index} (${one.what}): ${String(error)}`);
      }
    }
    connection?.close();
  }

  /** What there is when all that the cases made is removed again. */
  async #settled(client: RawClient): Promise<Look> {
    const { topics } = await client.send(Metadata, 9, { topics: null });
    const made = topics.filter(({ name, isInternal }) => name !== 'steady' && !isInternal);
    await client.send(DeleteTopics, 5, {
      topicNames: made.map(({ name }) => name ?? ''),
      timeoutMs: 10_000,
    });
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const { groups } = await client.send(ListGroups, 2, {});
    await client.send(DeleteGroups, 2, { groupsNames: groups.map(({ groupId }) => groupId) });
    return this.#broker.look();
  }

  #compare(first: Look, look: Look): void {
    const grownBytes = look.heapBytes - first.heapBytes;
    if (grownBytes > MOST_GROWTH_BYTES) {
      this.#faults.push(`the broker's heap has grown by ${mebibytes(grownBytes)}`);
    }
    if (look.longestTurnMs > LONGEST_TURN_MS) {
      this.#faults.push(`the broker held its thread for ${Math.round(look.longestTurnMs)} ms`);
    }
    const moreFiles = look.openFiles - first.openFiles;
    if (moreFiles > MOST_MORE_FILES) {
      this.#faults.push(`the broker has ${moreFiles} more open files`);
    }
  }
}

async function createTopics(client: RawClient): Promise<string[]> {
  const { topics } = await client.send(CreateTopics, 7, {
    topics: names.topics.slice(0, CREATED_TOPICS).map((name) => ({
      name,
      numPartitions: 3,
      replicationFactor: 1,
    })),
    timeoutMs: 10_000,
  });
  return topics.map(({ topicId }) => topicId);
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
