/** Stream applications in tests, with a client and topics on the same broker. */
import {
  connect,
  KafkaStreams,
  silentLogger,
  type KafkaClient,
  type KafkaStreamsOptions,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { afterEach } from 'vitest';

const CLIENT_CLOSES_WITHIN_MS = 5_000;
const APPLICATIONS_CLOSE_WITHIN_MS = 60_000;

class Applications {
  readonly #bootstrapServers: () => string;
  readonly #open: KafkaStreams[] = [];
  #client: KafkaClient | null = null;

  constructor(bootstrapServers: () => string) {
    this.#bootstrapServers = bootstrapServers;
  }

  /** One per test. */
  get client(): KafkaClient {
    this.#client ??= connect(
      { 'bootstrap.servers': this.#bootstrapServers() },
      { logger: silentLogger() },
    );
    return this.#client;
  }

  /** Without a time limit, since tests write old timestamps, unless `config` says otherwise. */
  async createTopics(
    topics: readonly string[],
    partitionCount: number,
    config: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const configs = new Map(Object.entries({ 'retention.ms': '-1', ...config }));
    const common = { partitionCount, replicationFactor: -1, config: configs };
    await this.client.admin().createTopics(topics.map((topic) => ({ topic, ...common })));
  }

  /** Not started yet. No environment variable of who runs the tests counts. */
  create(
    topology: Topology,
    config: StreamsConfigInput,
    options: KafkaStreamsOptions = {},
  ): KafkaStreams {
    const streams = new KafkaStreams(
      topology,
      { 'bootstrap.servers': this.#bootstrapServers(), ...config },
      { logger: silentLogger(), environment: {}, ...options },
    );
    this.#open.push(streams);
    return streams;
  }

  async start(...args: Parameters<Applications['create']>): Promise<KafkaStreams> {
    const streams = this.create(...args);
    await streams.start();
    return streams;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    const options = { timeoutMs: APPLICATIONS_CLOSE_WITHIN_MS };
    await Promise.all(this.#open.splice(0).map((streams) => streams.close(options)));
    await client?.close(CLIENT_CLOSES_WITHIN_MS);
  }
}

/** Applications and a client on this broker, closed after each test. */
export function applicationsOn(broker: () => { readonly bootstrapServers: string }): Applications {
  const applications = new Applications(() => broker().bootstrapServers);
  afterEach(() => applications.close());
  return applications;
}
