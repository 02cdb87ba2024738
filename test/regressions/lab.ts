import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteTopics } from '@millrace/protocol';
import {
  connect,
  GroupProgress,
  KafkaStreams,
  type KafkaStreamsOptions,
  readTopic,
  serdes,
  silentLogger,
  TopicWriter,
  type ReadRecord,
  type RestoreProgress,
  type StreamsClient,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { startBroker, type EmbeddedBroker } from '@millrace/runtime/embedded';
import { pino, type Logger } from 'pino';
import { RawClient } from '../support/raw-client.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { texts } from './topologies.ts';

export const APPLICATION_ID = 'app';
const WAIT_MS = 15_000;

interface Line {
  readonly level: number;
  readonly msg: string;
}

/** A record to be written; a null value deletes. */
export type Entry = readonly [key: string, value: string | null];

/** An application that runs, and what it said. */
export interface Running {
  readonly streams: KafkaStreams;
  readonly progress: readonly RestoreProgress[];
  /** Messages above info. */
  readonly loud: readonly string[];
  /** Of every store that was restored to its end. */
  restored(): Record<string, number>;
  close(): Promise<boolean>;
}

/** An embedded broker with topics, a client of it, and a state directory that outlives applications. */
export class Lab {
  readonly broker: EmbeddedBroker;
  readonly client: StreamsClient;
  readonly stateDir = temporaryDirectory();
  readonly #open: Running[] = [];

  private constructor(broker: EmbeddedBroker) {
    this.broker = broker;
    this.client = connect(
      { 'bootstrap.servers': broker.bootstrapServers },
      { logger: silentLogger() },
    );
  }

  static async open(topics: Readonly<Record<string, number>>): Promise<Lab> {
    const lab = new Lab(await startBroker({ inProcess: true }));
    for (const [topic, partitions] of Object.entries(topics)) {
      await lab.createTopic(topic, partitions);
    }
    return lab;
  }

  async close(): Promise<void> {
    for (const running of this.#open) await running.close();
    await this.client.close(5_000);
    await this.broker.close();
  }

  async createTopic(
    topic: string,
    partitionCount: number,
    config: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    await this.client
      .admin()
      .createTopics([
        { topic, partitionCount, replicationFactor: -1, config: new Map(Object.entries(config)) },
      ]);
  }

  async deleteTopic(name: string): Promise<void> {
    const raw = await RawClient.connect(this.broker.bootstrapServers);
    await raw.send(DeleteTopics, 6, { topics: [{ name }], timeoutMs: 10_000 });
    raw.close();
    await eventually(async () => {
      return !(await this.client.admin().listTopics()).includes(name);
    });
  }

  /** Removes what lies before the offset. */
  async trim(topic: string, offset: bigint): Promise<void> {
    await this.client.admin().deleteRecords([{ topic, partition: 0, offset }]);
  }

  /** Text records, in this order; all into one partition if it is given. */
  async write(
    topic: string,
    entries: Iterable<Entry>,
    options: { partition?: number; timestamp?: number } = {},
  ): Promise<void> {
    const { partition, timestamp = 1_700_000_000_000 } = options;
    const writer = await TopicWriter.open(this.client, {
      topic,
      ...texts,
      lingerMs: 1,
      ...(partition === undefined ? {} : { partitioner: () => partition }),
    });
    let index = 0;
    for (const [key, value] of entries) {
      writer.send(key, value, { timestamp: timestamp + index++ });
      if (writer.isFull) await writer.drained();
    }
    await writer.close();
  }

  async read(topic: string): Promise<ReadRecord<string, string>[]> {
    const all: ReadRecord<string, string>[] = [];
    for await (const records of readTopic(this.client, { topic, ...texts })) all.push(...records);
    return all;
  }

  async numbers(topic: string): Promise<Record<string, number>> {
    const latest: Record<string, number> = {};
    const options = { topic, key: serdes.string(), value: serdes.long() };
    for await (const records of readTopic(this.client, options)) {
      for (const { key, value } of records) latest[String(key)] = value ?? Number.NaN;
    }
    return latest;
  }

  async committed(topic: string, partition = 0): Promise<bigint | null> {
    const group = new GroupProgress(this.client, APPLICATION_ID);
    try {
      const partitions = await group.of(topic);
      return partitions?.find((each) => each.partition === partition)?.committedOffset ?? null;
    } finally {
      await group.close();
    }
  }

  /** Not started yet. */
  create(
    topology: Topology,
    config: StreamsConfigInput = {},
    options: KafkaStreamsOptions = {},
  ): Running {
    const lines: Line[] = [];
    const logger: Logger = pino(
      { level: 'warn' },
      { write: (text: string) => void lines.push(JSON.parse(text) as Line) },
    );
    const streams = new KafkaStreams(
      topology,
      {
        'application.id': APPLICATION_ID,
        'bootstrap.servers': this.broker.bootstrapServers,
        'state.dir': this.stateDir,
        'commit.interval.ms': 100,
        'heartbeat.interval.ms': 100,
        'producer.linger.ms': 2,
        'statestore.cache.max.bytes': 0,
        ...config,
      },
      { logger, environment: {}, ...options },
    );
    const progress: RestoreProgress[] = [];
    streams.restore$.subscribe((event) => progress.push(event));
    const running: Running = {
      streams,
      progress,
      get loud() {
        return lines.map(({ msg }) => msg);
      },
      restored() {
        const ends = progress.filter(({ kind }) => kind === 'end');
        return Object.fromEntries(ends.map((end) => [end.storeName, end.restoredRecords]));
      },
      close: () => streams.close({ timeoutMs: 10_000 }),
    };
    this.#open.push(running);
    return running;
  }

  /** Started, and RUNNING. */
  async start(...args: Parameters<Lab['create']>): Promise<Running> {
    const running = this.create(...args);
    await running.streams.start();
    await eventually(() => running.streams.state === 'RUNNING');
    return running;
  }

  taskFile(name: string, task = '0_0'): string {
    return join(this.stateDir, APPLICATION_ID, task, name);
  }
}

export async function eventually(check: () => boolean | Promise<boolean>): Promise<void> {
  const until = performance.now() + WAIT_MS;
  while (!(await check())) {
    if (performance.now() > until)
      throw new Error(`not within ${String(WAIT_MS)} ms: ${check.toString()}`);
    await sleep(20);
  }
}
