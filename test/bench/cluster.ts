import { Kafka, logLevel, type Admin } from 'kafkajs';
import { startKafka, type RunningKafka } from '../support/kafka/start-kafka.ts';
import { java } from './java.ts';

export interface Input {
  readonly records: number;
  readonly keys: number;
}

/** One Kafka 4.4 that both sides work on, and the topics that they read. */
export class BenchCluster {
  readonly #kafka: RunningKafka;
  readonly #admin: Admin;
  readonly #loaded = new Set<string>();

  private constructor(kafka: RunningKafka, admin: Admin) {
    this.#kafka = kafka;
    this.#admin = admin;
  }

  static async start(config: Readonly<Record<string, string>> = {}): Promise<BenchCluster> {
    const kafka = await startKafka({ purpose: 'bench', config });
    const brokers = kafka.bootstrapServers.split(',');
    const admin = new Kafka({ brokers, logLevel: logLevel.NOTHING }).admin();
    try {
      await admin.connect();
    } catch (error) {
      await kafka.close();
      throw error;
    }
    return new BenchCluster(kafka, admin);
  }

  get bootstrapServers(): string {
    return this.#kafka.bootstrapServers;
  }

  /** A topic with so many records over so many keys. */
  async input({ records, keys }: Input): Promise<string> {
    const topic = `bench-${String(records)}-${String(keys)}`;
    await this.#load(topic, ['--keys', String(keys), '--records', String(records)]);
    return topic;
  }

  /** The table that a topic is joined with: one record per key, an hour earlier. */
  async table(topic: string, { keys }: Input): Promise<void> {
    await this.#load(`${topic}-table`, ['--table', '1', '--keys', String(keys)]);
  }

  /** Sums of the end offsets of the topics that begin and end like this. */
  async recordCount(prefix: string, suffix: string): Promise<number> {
    let sum = 0;
    for (const topic of await this.topics(prefix)) {
      if (!topic.endsWith(suffix)) continue;
      for (const { high } of await this.#admin.fetchTopicOffsets(topic)) sum += Number(high);
    }
    return sum;
  }

  async topics(prefix: string): Promise<string[]> {
    return (await this.#admin.listTopics()).filter((topic) => topic.startsWith(prefix));
  }

  async deleteTopics(prefix: string): Promise<void> {
    const topics = await this.topics(prefix);
    if (topics.length > 0) await this.#admin.deleteTopics({ topics });
  }

  async close(): Promise<void> {
    await this.#admin.disconnect();
    await this.#kafka.close();
  }

  async #load(topic: string, args: readonly string[]): Promise<void> {
    if (this.#loaded.has(topic)) return;
    await java(['load', '--bootstrap', this.bootstrapServers, '--topic', topic, ...args]);
    this.#loaded.add(topic);
  }
}
