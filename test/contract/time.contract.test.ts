/** The order in which an application takes records, and the times that it keeps, as brokers have them. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  GroupProgress,
  readTopic,
  serdes,
  StreamsBuilder,
  TopicWriter,
  type KafkaStreams,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const WAIT_MS = 15_000;

describeOnBothBrokers('the time of an application', (broker) => {
  const apps = applicationsOn(broker);

  async function create(prefix: string): Promise<string> {
    const topic = unique(prefix);
    await apps.createTopics([topic], 1);
    return topic;
  }

  async function write(topic: string, timestamps: readonly number[], value = ''): Promise<void> {
    const writer = await TopicWriter.open(apps.client, { topic, ...strings });
    for (const timestamp of timestamps) writer.send(topic, value, { timestamp });
    await writer.close();
  }

  function start(
    topology: Topology,
    applicationId: string,
    config: StreamsConfigInput = {},
  ): Promise<KafkaStreams> {
    return apps.start(topology, {
      'application.id': applicationId,
      'state.dir': temporaryDirectory(),
      'commit.interval.ms': 100,
      'linger.ms': 0,
      ...config,
    });
  }

  async function committed(id: string, topic: string, offset: number) {
    const progress = new GroupProgress(apps.client, id);
    const untilMs = performance.now() + WAIT_MS;
    try {
      for (;;) {
        const [found] = (await progress.of(topic)) ?? [];
        if (found?.committedOffset === BigInt(offset)) return;
        if (performance.now() > untilMs) throw new Error(`${topic} is not committed in time`);
        await sleep(50);
      }
    } finally {
      await progress.close();
    }
  }

  it('takes the backlogs of two topics in the order of time, although no response has room for both', async () => {
    const [a, b, out] = [await create('a'), await create('b'), await create('out')];
    const count = 3_000;
    // Runs of a hundred, now of one topic, now of the other.
    const times = Array.from({ length: 2 * count }, (_, i) => 1_000 + i);
    const isOfA = (time: number): boolean => Math.floor(time / 100) % 2 === 0;
    const padding = 'x'.repeat(200);
    await write(a, times.filter(isOfA), padding);
    await write(
      b,
      times.filter((time) => !isOfA(time)),
      padding,
    );
    const builder = new StreamsBuilder();
    builder
      .stream([a, b], strings)
      .mapValues(() => '')
      .to(out, strings);
    const id = unique('app');
    await start(builder.build(), id, {
      'max.task.idle.ms': 0,
      'fetch.max.bytes': 20_000,
      'max.partition.fetch.bytes': 20_000,
    });
    await committed(id, a, count);
    await committed(id, b, count);
    const seen: number[] = [];
    for await (const records of readTopic(apps.client, { topic: out, ...strings })) {
      seen.push(...records.map(({ timestamp }) => timestamp));
    }
    expect(seen).toEqual(times);
  });

  it('is there again after a restart, for extractors and for what goes by stream time', async () => {
    const input = await create('in');
    const partitionTimes: number[] = [];
    const taskTimes: string[] = [];
    const topology = (): Topology => {
      const builder = new StreamsBuilder();
      builder
        .stream(input, {
          ...strings,
          timestampExtractor: (record, partitionTime) => {
            partitionTimes.push(partitionTime);
            return record.timestamp;
          },
        })
        .process<string, string>(() => ({
          init(context) {
            context.schedule(1_000, 'stream-time', (now) => taskTimes.push(`tick ${String(now)}`));
            this.process = () => taskTimes.push(String(context.currentStreamTimeMs()));
          },
          process: () => undefined,
        }));
      return builder.build();
    };
    const id = unique('app');
    const first = await start(topology(), id);
    await write(input, [5_000, 5_700, 5_100]);
    await committed(id, input, 3);
    expect(partitionTimes).toEqual([-1, 5_000, 5_700]);
    expect(taskTimes).toEqual(['5000', 'tick 5000', '5700', '5700']);
    expect(await first.close()).toBe(true);
    partitionTimes.length = 0;
    taskTimes.length = 0;
    await start(topology(), id);
    await write(input, [5_200, 6_000]);
    await committed(id, input, 5);
    expect(partitionTimes).toEqual([5_700, 5_700]);
    // The first tick waits for no record: stream time is known.
    expect(taskTimes).toEqual(['tick 5700', '5700', '6000', 'tick 6000']);
  });
});
