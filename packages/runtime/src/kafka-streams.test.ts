import { firstValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from './dsl/streams-builder.ts';
import { ConfigError, InvariantError, MissingSourceTopicError, ProcessingError } from './errors.ts';
import { serdes } from './serdes/serdes.ts';
import { FakeCluster } from './testing-support/fake-cluster.ts';
import { settle } from './testing-support/fake-clock.ts';
import type { FakeLog } from './testing-support/fake-log.ts';
import { createHarness, startHarness } from './testing-support/harness.ts';
import type { Topology } from './topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };

function wordCount(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('lines', strings)
    .flatMapValues((line) => line.split(' '))
    .groupBy((_, word) => word, strings)
    .count({ store: 'counts' })
    .toStream()
    .to('words', { key: serdes.string(), value: serdes.long() });
  return builder.build();
}

function countsOf(log: FakeLog): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { key, value } of log.records()) {
    counts[(key as Buffer).toString()] = Number((value as Buffer).readBigInt64BE());
  }
  return counts;
}

function wordCluster(): FakeCluster {
  const cluster = new FakeCluster();
  cluster.createTopic('lines', 1);
  cluster.createTopic('words', 1);
  return cluster;
}

describe('KafkaStreams', () => {
  it('counts words through a repartition topic, and commits', async () => {
    const cluster = wordCluster();
    cluster.log('lines').write([
      { key: null, value: 'a b a' },
      { key: null, value: 'b a c' },
    ]);
    const { streams, clock } = await startHarness({ topology: wordCount(), cluster });
    expect(streams.state).toBe('RUNNING');
    await clock.advance(30_000);
    await clock.advance(30_000);
    expect(countsOf(cluster.log('words'))).toEqual({ a: 3, b: 2, c: 1 });
    const offsets = cluster.group('app').offsets;
    expect(offsets.get('lines-0')?.offset).toBe(2n);
    expect(offsets.get('app-counts-repartition-0')?.offset).toBe(6n);
    expect(cluster.topicConfigs.get('app-counts-repartition')?.get('retention.ms')).toBe('-1');
    expect(cluster.topicConfigs.get('app-counts-changelog')?.get('cleanup.policy')).toBe('compact');
    expect(countsOf(cluster.log('app-counts-changelog'))).toEqual({ a: 3, b: 2, c: 1 });
    expect(await streams.close()).toBe(true);
    expect(streams.state).toBe('NOT_RUNNING');
  });

  it('goes on where it stopped: offsets and stores are restored', async () => {
    const cluster = wordCluster();
    cluster.log('lines').write([{ key: null, value: 'a b a' }]);
    const first = await startHarness({ topology: wordCount(), cluster });
    await first.clock.advance(1_000);
    // The words are read from the repartition topic once they are flushed there.
    await first.clock.advance(30_000);
    await first.streams.close();
    cluster.log('lines').write([{ key: null, value: 'a d' }]);
    const second = createHarness({ topology: wordCount(), cluster });
    const progress = firstValueFrom(second.streams.restore$.pipe(toArray()));
    await second.streams.start();
    await second.clock.advance(30_000);
    await second.clock.advance(30_000);
    await second.streams.close();
    expect(countsOf(cluster.log('words'))).toEqual({ a: 3, b: 1, d: 1 });
    const ends = (await progress).filter(({ kind }) => kind === 'end');
    // One record per key and commit: the record cache has taken the first count of "a".
    expect(ends).toMatchObject([
      { storeName: 'counts', topic: 'app-counts-changelog', endOffset: 2n, restoredRecords: 2 },
    ]);
  });

  it('tells its states in order, and completes', async () => {
    const cluster = wordCluster();
    const { streams, clock } = createHarness({ topology: wordCount(), cluster });
    const states = firstValueFrom(streams.state$.pipe(toArray()));
    const running = streams.run();
    await clock.advance(0);
    await streams.close();
    await running;
    expect((await states).map(({ state }) => state)).toEqual([
      'CREATED',
      'REBALANCING',
      'RUNNING',
      'PENDING_SHUTDOWN',
      'NOT_RUNNING',
    ]);
  });

  it('starts only once', async () => {
    const { streams } = await startHarness({ topology: wordCount(), cluster: wordCluster() });
    await expect(streams.start()).rejects.toThrow(InvariantError);
    await streams.close();
  });

  it('166: can be closed before it was started, and more than once (kafkajs#767, #903)', async () => {
    const { streams } = createHarness({ topology: wordCount(), cluster: wordCluster() });
    const [first, second] = await Promise.all([streams.close(), streams.close()]);
    expect([first, second]).toEqual([true, true]);
    expect(streams.state).toBe('NOT_RUNNING');
  });

  it('166: can be closed right after run(), which settles then (kafkajs#967, #1168, #1639)', async () => {
    const { streams, clock, client } = createHarness({
      topology: wordCount(),
      cluster: wordCluster(),
    });
    const running = streams.run();
    const closed = streams.close();
    await clock.advance(0);
    expect(await closed).toBe(true);
    await running;
    expect(streams.state).toBe('NOT_RUNNING');
    expect([clock.timerCount, client.isClosed]).toEqual([0, true]);
    expect(client.cluster.group('app').memberCount).toBe(0);
  });

  it.each([
    ['does not wait for it', false],
    ['waits for it', true],
  ])('166: can be closed by a function that %s (kafkajs#967, #767)', async (_, isAwaited) => {
    const cluster = wordCluster();
    cluster.log('lines').write([{ key: null, value: 'x' }]);
    const closed: Promise<boolean>[] = [];
    const builder = new StreamsBuilder();
    builder
      .stream('lines', strings)
      .peek(() => {
        closed.push(streams.close({ timeoutMs: 500 }));
        return isAwaited ? Promise.all(closed) : undefined;
      })
      .to('words', strings);
    const { streams, clock } = createHarness({ topology: builder.build(), cluster });
    const running = streams.run();
    await clock.advance(isAwaited ? 600 : 10);
    // The record in hand waits for the close, so the close cannot wait for the record.
    expect(await Promise.all(closed)).toEqual([!isAwaited]);
    await running;
    expect(streams.state).toBe('NOT_RUNNING');
    expect(clock.timerCount).toBe(0);
    expect(cluster.log('words').records()).toHaveLength(isAwaited ? 0 : 1);
  });

  it('leaves no timer and closes what it opened', async () => {
    const { streams, client, clock } = await startHarness({
      topology: wordCount(),
      cluster: wordCluster(),
    });
    await streams.close();
    expect(clock.timerCount).toBe(0);
    expect(client.isClosed).toBe(true);
    expect(client.producers.every(({ isClosed }) => isClosed)).toBe(true);
    expect(client.cluster.group('app').memberCount).toBe(0);
  });

  it('167: settles by its deadline when a user function never returns (kafkajs#571)', async () => {
    const cluster = wordCluster();
    cluster.log('lines').write([{ key: null, value: 'x' }]);
    const builder = new StreamsBuilder();
    builder
      .stream('lines', strings)
      .peek(() => new Promise<void>(() => undefined))
      .to('words', strings);
    const { streams, clock } = await startHarness({ topology: builder.build(), cluster });
    const closed = streams.close({ timeoutMs: 500 });
    await clock.advance(499);
    expect(streams.state).toBe('PENDING_SHUTDOWN');
    await clock.advance(1);
    expect(await closed).toBe(false);
    expect(streams.state).toBe('NOT_RUNNING');
    expect(clock.timerCount).toBe(0);
  });

  it('169, 175: ends in ERROR and rejects run() when a source topic is missing, naming it (confluent-kafka-javascript#497, KAFKA-15951)', async () => {
    const cluster = new FakeCluster();
    cluster.createTopic('words');
    const { streams, clock } = createHarness({ topology: wordCount(), cluster });
    const running = streams.run().catch((error: unknown) => error);
    await clock.advance(0);
    const error = await running;
    expect(error).toBeInstanceOf(MissingSourceTopicError);
    expect((error as Error).message).toContain('lines');
    expect(streams.state).toBe('ERROR');
    expect(streams.failure).toBe(error);
    expect(await streams.close()).toBe(true);
  });

  it('169: ends in ERROR with the place of the record when a user function throws (confluent-kafka-javascript#497)', async () => {
    const cluster = wordCluster();
    cluster.log('lines').write([
      { key: 'k', value: 'fine' },
      { key: 'k', value: 'bad' },
    ]);
    const builder = new StreamsBuilder();
    builder
      .stream('lines', strings)
      .mapValues((value) => {
        if (value === 'bad') throw new Error('cannot take this');
        return value;
      })
      .to('words', strings);
    const { streams, clock } = createHarness({ topology: builder.build(), cluster });
    const running = streams.run().catch((error: unknown) => error);
    await clock.advance(0);
    const error = await running;
    expect(error).toBeInstanceOf(ProcessingError);
    expect((error as Error).message).toMatch(/lines-0 at offset 1.*cannot take this/);
    // What failed was not committed.
    expect(cluster.group('app').offsets.size).toBe(0);
  });

  it('asks the uncaught exception handler, and replaces the thread', async () => {
    const cluster = wordCluster();
    cluster.log('lines').write([{ key: 'k', value: 'once' }]);
    let failures = 1;
    const builder = new StreamsBuilder();
    builder
      .stream('lines', strings)
      .peek(() => {
        if (failures-- > 0) throw new Error('transient');
      })
      .to('words', strings);
    const { streams, clock } = await startHarness({
      topology: builder.build(),
      cluster,
      options: { uncaughtExceptionHandler: () => 'replace-thread' },
    });
    await clock.advance(31_000);
    expect(streams.state).toBe('RUNNING');
    expect(cluster.log('words').records()).toHaveLength(1);
    const failed = streams.metrics().find(({ name }) => name === 'failed-stream-threads');
    expect(failed?.value()).toBe(1);
    await streams.close();
  });

  it('shares tasks among its threads and among instances, without loss or repetition', async () => {
    const cluster = new FakeCluster();
    cluster.createTopic('lines', 4);
    cluster.createTopic('words', 1);
    const write = (from: number): void => {
      for (let p = 0; p < 4; p++) {
        for (let i = from; i < from + 10; i++) {
          cluster.log('lines', p).write([{ key: null, value: `w${String(i)}` }]);
        }
        cluster.changed('lines', p);
      }
    };
    write(0);
    const one = await startHarness({
      topology: wordCount(),
      cluster,
      config: { 'num.stream.threads': 2 },
    });
    await one.clock.advance(1_000);
    write(0);
    const two = await startHarness({ topology: wordCount(), cluster, clock: one.clock });
    await one.clock.advance(1_000);
    expect(one.streams.state).toBe('RUNNING');
    expect(two.streams.state).toBe('RUNNING');
    write(0);
    await one.clock.advance(60_000);
    await one.streams.close();
    await two.clock.advance(60_000);
    write(0);
    await two.clock.advance(90_000);
    await two.streams.close();
    const counts = countsOf(cluster.log('words'));
    expect(Object.keys(counts)).toHaveLength(10);
    expect(Object.values(counts).every((count) => count === 16)).toBe(true);
  });

  it('throws for a wrong configuration before any I/O', () => {
    expect(() =>
      createHarness({ topology: wordCount(), config: { 'commit.interval.ms': -1 } }),
    ).toThrow(ConfigError);
  });

  it('does nothing while it is idle, apart from its summaries and the windows of its metrics', async () => {
    const cluster = wordCluster();
    let turns = 0;
    const { streams, clock } = await startHarness({
      topology: wordCount(),
      cluster,
      config: { 'log.summary.interval.ms': -1 },
      options: {
        yieldToEventLoop: () => {
          turns++;
          return settle();
        },
      },
    });
    await clock.advance(1_000);
    const before = turns;
    await clock.advance(600_000);
    expect(turns).toBe(before);
    expect(clock.timerCount).toBe(1);
    await streams.close();
    expect(clock.timerCount).toBe(0);
  });
});
