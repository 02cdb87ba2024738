import { connect, readTopic, serdes } from '@millrace/runtime';
import { SeededRandom } from '../../golden/fuzz/random.ts';
import { BrokerProcess } from '../broker-process.ts';
import { decodeRecord } from './lines.ts';
import { SoakClient } from './soak-client.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly records: number;
  /** Of clients and of the broker, together. */
  readonly kills: number;
  readonly dataDir: string;
  readonly say: (line: string) => void;
}

export interface SoakReport {
  readonly faults: readonly string[];
  readonly brokerKills: number;
  readonly clientKills: number;
  /** Records in the topic: those of killed writers that were not acknowledged are there again. */
  readonly written: number;
}

const TOPIC = 'soak';
const PARTITIONS = 4;
const WRITERS = 8;
const READERS = 2;
/** Of so many kills one is the broker's. */
const BROKER_KILLED_ONE_IN = 3;
/** Without a word from any writer. */
const STALLED_MS = 60_000;
const READ_DEADLINE_MS = 60_000;
const FAULTS_SHOWN = 20;

interface Life {
  /** The first sequence number that it writes. */
  readonly from: number;
  /** The last that was acknowledged to it; -1: none. */
  acked: number;
}

/** Ten clients, eight of which write, each life after life until all its records are acknowledged. */
export async function soak(options: SoakOptions): Promise<SoakReport> {
  return new Soak(options).run();
}

class Soak {
  readonly #options: SoakOptions;
  readonly #random: SeededRandom;
  readonly #faults: string[] = [];
  readonly #lives: Life[][] = Array.from({ length: WRITERS }, () => []);
  readonly #clients = new Set<SoakClient>();
  /** Offsets that readers have had, by partition: all below, and ranges above. */
  readonly #read = Array.from({ length: PARTITIONS }, () => new Set<number>());
  readonly #perWriter: number;
  #broker: BrokerProcess | null = null;
  #port = 0;
  #progress = 0;
  #lastProgressMs = 0;
  #nextKill = 0;
  #killCount = 0;
  #brokerKills = 0;
  #isKilling = false;
  #isOver = false;

  constructor(options: SoakOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    this.#perWriter = Math.ceil(options.records / WRITERS);
    this.#planKill();
  }

  async run(): Promise<SoakReport> {
    await this.#startBroker();
    const watch = setInterval(() => this.#watch(), 1_000);
    this.#lastProgressMs = performance.now();
    try {
      await this.#createTopic();
      const readers = Array.from({ length: READERS }, () => this.#readForEver());
      await Promise.all(Array.from({ length: WRITERS }, (_, writer) => this.#writeAll(writer)));
      const ends = await this.#check();
      await this.#waitForReaders(ends);
      this.#end();
      await Promise.all(readers);
      const written = ends.reduce((sum, end) => sum + end, 0);
      await this.#broker?.stop();
      this.#faults.push(...(this.#broker?.faults ?? []));
      return {
        faults: this.#faults.slice(0, FAULTS_SHOWN),
        brokerKills: this.#brokerKills,
        clientKills: this.#killCount - this.#brokerKills,
        written,
      };
    } finally {
      clearInterval(watch);
      this.#end();
      await this.#broker?.kill();
    }
  }

  get #bootstrapServers(): string {
    return `127.0.0.1:${this.#port}`;
  }

  async #startBroker(): Promise<void> {
    this.#broker = await BrokerProcess.start({
      dataDir: this.#options.dataDir,
      port: this.#port,
      config: {
        'offsets.topic.num.partitions': 2,
        'group.min.session.timeout.ms': 1_000,
      },
    });
    this.#port = this.#broker.port;
  }

  async #createTopic(): Promise<void> {
    const client = connect({ 'bootstrap.servers': this.#bootstrapServers });
    await client
      .admin()
      .createTopics([
        { topic: TOPIC, partitionCount: PARTITIONS, replicationFactor: -1, config: new Map() },
      ]);
    await client.close(10_000);
  }

  async #writeAll(writer: number): Promise<void> {
    const kind = writer % 2 === 0 ? 'ours' : 'kafkajs';
    const lives = this.#lives[writer] as Life[];
    let next = 0;
    while (next < this.#perWriter && !this.#isOver) {
      const life: Life = { from: next, acked: -1 };
      lives.push(life);
      const args = [writer, lives.length - 1, next, this.#perWriter].map(String);
      await this.#live([kind, this.#bootstrapServers, TOPIC, ...args], ([acked = -1]) => {
        this.#progressed(acked - Math.max(life.acked, life.from - 1));
        life.acked = acked;
      });
      next = Math.max(next, life.acked + 1);
    }
  }

  async #readForEver(): Promise<void> {
    while (!this.#isOver) {
      await this.#live(
        ['reader', this.#bootstrapServers, TOPIC],
        ([partition = 0, first = 0, last = -1]) => {
          const read = this.#read[partition] as Set<number>;
          for (let offset = first; offset <= last; offset++) read.add(offset);
        },
      );
    }
  }

  async #live(
    args: readonly string[],
    onNumbers: (numbers: readonly number[]) => void,
  ): Promise<void> {
    const client = new SoakClient(args, ({ word, numbers }) => {
      if (word !== 'done') onNumbers(numbers);
    });
    this.#clients.add(client);
    await client.ended;
    this.#clients.delete(client);
  }

  #progressed(records: number): void {
    this.#progress += records;
    this.#lastProgressMs = performance.now();
    if (this.#progress >= this.#nextKill && this.#killCount < this.#options.kills)
      void this.#kill();
  }

  #planKill(): void {
    const { records, kills } = this.#options;
    const step = Math.max(2, Math.floor(records / (kills + 1)));
    this.#nextKill = this.#progress + Math.floor(step / 4) + this.#random.int(step);
  }

  async #kill(): Promise<void> {
    if (this.#isKilling) return;
    this.#isKilling = true;
    this.#killCount++;
    if (this.#random.oneIn(BROKER_KILLED_ONE_IN)) {
      this.#brokerKills++;
      await this.#broker?.kill();
      this.#faults.push(...(this.#broker?.faults ?? []));
      await this.#startBroker();
    } else if (this.#clients.size > 0) {
      this.#random.pick([...this.#clients]).kill();
    }
    this.#options.say(`${this.#progress} records, ${this.#killCount} kills`);
    this.#planKill();
    this.#isKilling = false;
  }

  #watch(): void {
    if (this.#isOver || performance.now() - this.#lastProgressMs < STALLED_MS) return;
    this.#faults.push(
      `nothing was acknowledged for ${STALLED_MS} ms, after ${this.#progress} records`,
    );
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    for (const client of this.#clients) client.kill();
  }

  /** Reads all there is, and finds what is missing, twice there, or out of order; returns end offsets. */
  async #check(): Promise<number[]> {
    const client = connect({ 'bootstrap.servers': this.#bootstrapServers });
    const serde = serdes.string();
    const ends = Array.from({ length: PARTITIONS }, () => 0);
    /** By writer and life: the last sequence number seen. */
    const last = this.#lives.map((lives) => lives.map(({ from }) => from - 1));
    for await (const records of readTopic(client, { topic: TOPIC, key: serde, value: serde })) {
      for (const { partition, offset, value } of records) {
        ends[partition] = Math.max(ends[partition] as number, Number(offset) + 1);
        const { writer, life, sequence } = decodeRecord(value ?? '');
        const seen = last[writer]?.[life];
        if (seen === undefined) this.#faults.push(`nobody wrote ${String(value)}`);
        else if (sequence !== seen + 1) {
          this.#faults.push(`life ${life} of writer ${writer}: ${sequence} comes after ${seen}`);
        }
        (last[writer] as number[])[life] = sequence;
      }
    }
    await client.close(10_000);
    for (const [writer, lives] of this.#lives.entries()) {
      for (const [life, { acked }] of lives.entries()) {
        const seen = last[writer]?.[life] ?? -1;
        if (seen < acked) {
          this.#faults.push(
            `life ${life} of writer ${writer}: ${acked} was acknowledged, ${seen} is the last that is there`,
          );
        }
      }
    }
    return ends;
  }

  async #waitForReaders(ends: readonly number[]): Promise<void> {
    const missing = (): number[] =>
      ends.map((end, partition) => end - (this.#read[partition] as Set<number>).size);
    const deadlineMs = performance.now() + READ_DEADLINE_MS;
    while (missing().some((count) => count > 0) && performance.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    if (missing().some((count) => count !== 0)) {
      this.#faults.push(
        `readers of a group have missed records, by partition: ${missing().join()}`,
      );
    }
  }
}
