import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { timeWindows } from '../dsl/time-windows.ts';
import { DeserializationError, MisconfiguredTopicError } from '../errors.ts';
import { serdes } from '../serdes/serdes.ts';
import type { Topology } from '../topology/topology.ts';
import { TestDriverError } from './test-driver-error.ts';
import { TopologyTestDriver, type TopologyTestDriverOptions } from './topology-test-driver.ts';

const texts = { key: serdes.string(), value: serdes.string() };
const counts = { key: serdes.string(), value: serdes.long() };

function wordCount(): Topology {
  const builder = new StreamsBuilder({ defaultKeySerde: serdes.string() });
  builder
    .stream('lines', texts)
    .flatMapValues((line) => line.split(' '), { value: serdes.string() })
    .groupBy((_key, word) => word, { key: serdes.string() })
    .count({ store: 'counts' })
    .toStream()
    .to('totals');
  return builder.build();
}

function upperCase(
  map: (value: string) => string | Promise<string> = (v) => v.toUpperCase(),
): Topology {
  const builder = new StreamsBuilder();
  builder.stream('in', texts).mapValues(map, { value: serdes.string() }).to('out');
  return builder.build();
}

function drive(topology: Topology, options: TopologyTestDriverOptions = {}): TopologyTestDriver {
  return new TopologyTestDriver(topology, {}, { startTime: 1_000, ...options });
}

describe('a test driver', () => {
  it('processes a record to its end, over repartition topics and stores', async () => {
    const driver = drive(wordCount());
    const totals = driver.createOutputTopic('totals', counts);
    await driver.createInputTopic('lines', texts).pipe(null, 'to be or not to be');
    expect(totals.readKeyValuesToMap()).toEqual(
      new Map([
        ['to', 2],
        ['be', 2],
        ['or', 1],
        ['not', 1],
      ]),
    );
    expect(driver.getKeyValueStore<string, number>('counts').get('to')).toBe(2);
    expect(driver.producedTopicNames()).toEqual([
      'test-counts-changelog',
      'test-counts-repartition',
      'totals',
    ]);
    await driver.close();
  });

  it('is done when the call returns if nothing is asynchronous', () => {
    const driver = drive(upperCase());
    const out = driver.createOutputTopic('out', texts);
    void driver.createInputTopic('in', texts).pipe('k', 'v');
    expect(out.readKeyValue()).toEqual(['k', 'V']);
  });

  it('waits for asynchronous functions, and keeps the order of calls that nobody awaited', async () => {
    const waits = [20, 1, 5];
    const driver = drive(
      upperCase(async (value) => {
        await new Promise((resolve) => setTimeout(resolve, waits.shift()));
        return value.toUpperCase();
      }),
    );
    const input = driver.createInputTopic('in', texts);
    const out = driver.createOutputTopic('out', texts);
    const all = ['a', 'b', 'c'].map((value) => input.pipe('k', value));
    expect(out.isEmpty).toBe(true);
    await Promise.all(all);
    expect(out.readValues()).toEqual(['A', 'B', 'C']);
  });

  it('gives records the times and headers that they are piped with', async () => {
    const driver = drive(upperCase());
    const input = driver.createInputTopic('in', {
      ...texts,
      startTimestamp: new Date(5_000),
      autoAdvance: '1s',
    });
    const out = driver.createOutputTopic('out', texts);
    await input.pipe('k', 'a');
    await input.pipe('k', 'b', { timestamp: 7, headers: new RecordHeaders().add('h', 'x') });
    input.advanceTime('10s');
    await input.pipeRecord({ key: 'k', value: 'c' });
    const records = out.readRecords();
    expect(records.map(({ timestamp }) => timestamp)).toEqual([5_000, 7, 16_000]);
    expect(records[1]?.headers.last('h')?.value?.toString()).toBe('x');
    expect(records[0]?.headers.isEmpty).toBe(true);
    expect(driver.streamTimeMs).toBe(16_000);
    expect(input.currentTimestamp).toBe(17_000);
  });

  it('takes its wall clock as the time of records that are given none', async () => {
    const driver = drive(upperCase());
    const out = driver.createOutputTopic('out', texts);
    await driver.advanceWallClockTime('2s');
    expect(driver.wallClockTimeMs).toBe(3_000);
    await driver.createInputTopic('in', texts).pipeValues(['a']);
    expect(out.readRecord()).toMatchObject({ key: null, value: 'A', timestamp: 3_000 });
    expect(out.queueSize).toBe(0);
  });

  it('says what there is when it is asked for what is not', async () => {
    const driver = drive(wordCount());
    await expect(driver.createInputTopic('line', texts).pipe('k', 'v')).rejects.toThrow(
      'Unknown topic: line. The topology reads: lines, test-counts-repartition.',
    );
    expect(() => driver.getStateStore('count')).toThrow(
      'There is no store count on partition 0; there are: counts.',
    );
    expect(() => driver.getWindowStore('counts')).toThrow('The store counts is no window store.');
    const totals = driver.createOutputTopic('totals', counts);
    expect(() => totals.readValue()).toThrow('The topic totals has no record');
    // None of these was the topology's failure.
    await driver.createInputTopic('lines', texts).pipe(null, 'a');
    expect(totals.readKeyValue()).toEqual(['a', 1]);
  });

  it('rejects with what a record failed with, and is of no further use', async () => {
    const builder = new StreamsBuilder();
    builder.stream('in', { key: serdes.string(), value: serdes.long() }).to('out');
    const driver = drive(builder.build());
    const input = driver.createInputTopic('in', texts);
    await expect(input.pipe('k', 'no long')).rejects.toThrow(DeserializationError);
    await expect(input.pipe('k', 'no long')).rejects.toThrow(TestDriverError);
    await driver.close();
    await expect(input.pipe('k', 'v')).rejects.toThrow('The driver is closed');
  });

  it('rejects with what an asynchronous function failed with', async () => {
    const driver = drive(upperCase(() => Promise.reject(new Error('no upper case'))));
    await expect(driver.createInputTopic('in', texts).pipe('k', 'v')).rejects.toThrow(
      'no upper case',
    );
  });

  it('counts what was dropped', async () => {
    const builder = new StreamsBuilder({ defaultKeySerde: serdes.string() });
    builder
      .stream('in', texts)
      .groupByKey()
      .windowedBy(timeWindows({ size: 10 }))
      .count({ store: 'windows' });
    const driver = drive(builder.build());
    const input = driver.createInputTopic('in', texts);
    await input.pipe('k', 'a', { timestamp: 100 });
    await input.pipe('k', 'late', { timestamp: 1 });
    await input.pipe(null, 'no key', { timestamp: 100 });
    expect(driver.droppedRecordCount).toBe(2);
    const window = driver.getWindowStore<string, number>('windows');
    expect([...window.fetch('k', 0, 200)].map(({ value }) => value)).toEqual([1]);
  });

  it('takes a configuration as KafkaStreams does', async () => {
    const builder = new StreamsBuilder();
    builder.stream('in', { key: serdes.string(), value: serdes.long() }).to('out');
    const driver = new TopologyTestDriver(builder.build(), {
      'application.id': 'app',
      'deserialization.exception.handler': 'continue',
    });
    await driver.createInputTopic('in', texts).pipe('k', 'no long');
    expect(driver.droppedRecordCount).toBe(1);
    expect(driver.producedTopicNames()).toEqual([]);
  });
});

describe('a test driver of other kinds of topologies', () => {
  it('keeps global tables up to date', async () => {
    const builder = new StreamsBuilder();
    const airports = builder.globalTable('airports', { ...texts, store: 'airports' });
    builder
      .stream('flights', texts)
      .join(
        airports,
        (_key, code) => code,
        (code, name) => `${code} is ${name}`,
      )
      .to('out', { value: serdes.string() });
    const driver = drive(builder.build());
    const flights = driver.createInputTopic('flights', texts);
    const rows = driver.createInputTopic('airports', texts);
    await rows.pipe('FRA', 'Frankfurt');
    await flights.pipe('LH1', 'FRA');
    await rows.pipe('FRA', null);
    await flights.pipe('LH2', 'FRA');
    expect(driver.createOutputTopic('out', texts).readKeyValues()).toEqual([
      ['LH1', 'FRA is Frankfurt'],
    ]);
    expect(driver.getKeyValueStore<string, string>('airports').get('FRA')).toBe(null);
    // Global tables move no task's time.
    expect(driver.streamTimeMs).toBe(1_000);
  });

  it('reads by pattern the input topics that were made before it began', async () => {
    const builder = new StreamsBuilder();
    builder.stream(/in-.*/, texts).to('out');
    const driver = drive(builder.build());
    const [a, b] = ['in-a', 'in-b'].map((topic) => driver.createInputTopic(topic, texts));
    await a?.pipe('k', 'from a');
    await b?.pipe('k', 'from b');
    expect(driver.createOutputTopic('out', texts).readValues()).toEqual(['from a', 'from b']);
    await expect(driver.createInputTopic('in-c', texts).pipe('k', 'v')).rejects.toThrow(
      'The topic in-c matches a pattern, but was not there when the topology started',
    );
  });

  it('punctuates when its wall clock is moved, once at most', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('in', texts)
      .process<string, string>(() => {
        let forward: ((time: number) => unknown) | null = null;
        return {
          init: (context) => {
            forward = (time) =>
              context.forward({ key: 'tick', value: String(time), timestamp: time });
            context.schedule('10s', 'wall-clock-time', async (time) => {
              await Promise.resolve();
              await forward?.(time);
            });
          },
          process: () => undefined,
        };
      })
      .to('out', texts);
    const driver = drive(builder.build());
    const out = driver.createOutputTopic('out', texts);
    await driver.advanceWallClockTime('9s');
    expect(out.isEmpty).toBe(true);
    await driver.advanceWallClockTime('1m');
    expect(out.readValues()).toEqual(['70000']);
  });

  it('tells with the first call that nodes which start asynchronously have failed', async () => {
    const builder = new StreamsBuilder();
    builder.stream('in', texts).process<string, string>(() => ({
      init: () => Promise.reject(new Error('no start')),
      process: () => undefined,
    }));
    const driver = drive(builder.build());
    await expect(driver.createInputTopic('in', texts).pipe('k', 'v')).rejects.toMatchObject({
      cause: { message: expect.stringContaining('no start') as string },
    });
    await driver.close();
  });
});

describe('a test driver with partitions', () => {
  it('has the tasks of a cluster, and puts records where a producer would', async () => {
    const driver = drive(wordCount(), { partitions: 3 });
    const totals = driver.createOutputTopic('totals', counts);
    const words = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const lines = driver.createInputTopic('lines', texts);
    await lines.pipeValues([...words, ...words]);
    expect(totals.readKeyValuesToMap()).toEqual(new Map(words.map((word) => [word, 2])));
    const held = [0, 1, 2].map((partition) =>
      [...driver.getKeyValueStore<string, number>('counts', partition).all()].map(({ key }) => key),
    );
    expect(held.flat().sort()).toEqual(words);
    expect(held.every((keys) => keys.length > 0)).toBe(true);
  });

  it('pipes to the partition that it is told', async () => {
    const driver = drive(upperCase(), { partitions: { in: 2, out: 4 } });
    const input = driver.createInputTopic('in', texts);
    await input.pipe('k', 'v', { partition: 1 });
    const partition = driver.createOutputTopic('out', texts).readRecord().partition;
    await input.pipe('k', 'v', { partition: 0 });
    expect(partition).toBeLessThan(4);
    await expect(input.pipe('k', 'v', { partition: 2 })).rejects.toThrow(
      'The topic in has no partition 2: it has 2.',
    );
  });

  it('refuses topics that must have equally many partitions and have not', () => {
    const builder = new StreamsBuilder();
    const table = builder.table('table', { ...texts, store: 'rows' });
    builder
      .stream('stream', texts)
      .join(table, (left, right) => left + right, { result: serdes.string() })
      .to('out');
    const topology = builder.build();
    expect(() => drive(topology, { partitions: { stream: 2, table: 3 } })).toThrow(
      MisconfiguredTopicError,
    );
  });
});
