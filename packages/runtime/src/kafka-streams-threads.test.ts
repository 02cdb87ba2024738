/** Stream threads that come and go, pauses, and what is done about threads that fail. */
import { describe, expect, it } from 'vitest';
import { decodeSubscription, encodeSubscription } from './assignment/subscription.ts';
import { MissingTopicError } from './client/errors.ts';
import { StreamsBuilder } from './dsl/streams-builder.ts';
import { ApplicationShutdownError, ProcessingError, TimeoutError } from './errors.ts';
import type { FixedKeyProcessor, FixedKeyProcessorContext } from './operators/processor-api.ts';
import type { FixedKeyRecord } from './operators/stream-record.ts';
import { SHUTDOWN_LINGER_MS, SHUTDOWN_TELL_MAX_MS, THREAD_REPLACEMENTS_MAX } from './limits.ts';
import { serdes } from './serdes/serdes.ts';
import { FakeCluster } from './testing-support/fake-cluster.ts';
import { startHarness } from './testing-support/harness.ts';
import type { Topology } from './topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const PARTITIONS = 4;

function newCluster(): FakeCluster {
  const cluster = new FakeCluster();
  cluster.createTopic('in', PARTITIONS);
  cluster.createTopic('out', 1);
  return cluster;
}

/** `each` may throw. */
function counting(each: (value: string) => void = () => undefined): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .peek((_key, value) => {
      each(value);
    })
    .groupByKey(strings)
    .count({ store: 'counts' })
    .toStream()
    .to('out', { key: serdes.string(), value: serdes.long() });
  return builder.build();
}

/** A record for each partition, with the partition's own key. */
function write(cluster: FakeCluster, value: string): void {
  for (let partition = 0; partition < PARTITIONS; partition++) {
    cluster.log('in', partition).write([{ key: `k${String(partition)}`, value }]);
    cluster.changed('in', partition);
  }
}

/** All counts of each key, in order. */
function counted(cluster: FakeCluster): Record<string, number[]> {
  const counts: Record<string, number[]> = {};
  for (const { key, value } of cluster.log('out').records()) {
    const name = (key as Buffer).toString();
    counts[name] = [...(counts[name] ?? []), Number((value as Buffer).readBigInt64BE())];
  }
  return counts;
}

/** Passes values on, and ticks every second. */
class Ticking implements FixedKeyProcessor<string, string> {
  readonly #onTick: () => void;
  #context: FixedKeyProcessorContext<string, string> | null = null;

  constructor(onTick: () => void) {
    this.#onTick = onTick;
  }

  init(context: FixedKeyProcessorContext<string, string>): void {
    this.#context = context;
    context.schedule('1s', 'wall-clock-time', this.#onTick);
  }

  process(record: FixedKeyRecord<string, string>): unknown {
    return this.#context?.forward(record);
  }
}

const everyKey = (counts: readonly number[]): Record<string, readonly number[]> =>
  Object.fromEntries(
    Array.from({ length: PARTITIONS }, (_, partition) => [`k${String(partition)}`, counts]),
  );

describe('addStreamThread and removeStreamThread', () => {
  it('move tasks among the threads, without loss or repetition', async () => {
    const cluster = newCluster();
    const { streams, clock } = await startHarness({
      topology: counting(),
      cluster,
      config: { 'statestore.cache.max.bytes': 0, 'client.id': 'c' },
    });
    const taskCounts = (): number[] => streams.threads().map(({ tasks }) => tasks.length);
    write(cluster, 'a');
    await clock.advance(1_000);
    expect(taskCounts()).toEqual([4]);
    expect(streams.addStreamThread()).toBe('c-StreamThread-2');
    await clock.advance(1_000);
    expect(streams.state).toBe('RUNNING');
    expect(taskCounts()).toEqual([2, 2]);
    write(cluster, 'b');
    await clock.advance(1_000);
    expect(streams.addStreamThread()).toBe('c-StreamThread-3');
    await clock.advance(1_000);
    write(cluster, 'c');
    await clock.advance(1_000);
    const first = streams.removeStreamThread();
    await clock.advance(1_000);
    expect(await first).toBe('c-StreamThread-3');
    const second = streams.removeStreamThread();
    await clock.advance(1_000);
    expect(await second).toBe('c-StreamThread-2');
    write(cluster, 'd');
    await clock.advance(31_000);
    expect(streams.state).toBe('RUNNING');
    expect(streams.threads()).toMatchObject([
      {
        name: 'c-StreamThread-1',
        state: 'RUNNING',
        tasks: Array.from({ length: PARTITIONS }, (_, partition) => ({
          taskId: `0_${String(partition)}`,
          state: 'RUNNING',
          inputs: [{ topic: 'in', partition }],
        })),
      },
    ]);
    expect(counted(cluster)).toEqual(everyKey([1, 2, 3, 4]));
    await streams.close();
    expect(cluster.group('app').memberCount).toBe(0);
  });

  it('leave no thread to process if the last one is removed, until one is added', async () => {
    const cluster = newCluster();
    const { streams, clock } = await startHarness({ topology: counting(), cluster });
    const removed = streams.removeStreamThread();
    await clock.advance(1_000);
    expect(await removed).toMatch(/-StreamThread-1$/);
    expect(await streams.removeStreamThread()).toBeNull();
    write(cluster, 'a');
    await clock.advance(60_000);
    expect(counted(cluster)).toEqual({});
    streams.addStreamThread();
    await clock.advance(60_000);
    expect(streams.state).toBe('RUNNING');
    expect(counted(cluster)).toEqual(everyKey([1]));
    await streams.close();
  });

  it('do nothing before the start and after the end', async () => {
    const { streams } = await startHarness({ topology: counting(), cluster: newCluster() });
    await streams.close();
    expect(streams.addStreamThread()).toBeNull();
    expect(await streams.removeStreamThread()).toBeNull();
  });
});

describe('pause and resume', () => {
  it('stop processing, but keep the tasks and commit what is done', async () => {
    const cluster = newCluster();
    const { streams, clock } = await startHarness({
      topology: counting(),
      cluster,
      config: { 'statestore.cache.max.bytes': 0 },
    });
    write(cluster, 'a');
    await clock.advance(1_000);
    streams.pause();
    expect(streams.isPaused).toBe(true);
    write(cluster, 'b');
    await clock.advance(60_000);
    expect(counted(cluster)).toEqual(everyKey([1]));
    expect(streams.state).toBe('RUNNING');
    const { offsets, generation } = cluster.group('app');
    expect(offsets.get('in-0')?.offset).toBe(1n);
    streams.resume();
    expect(streams.isPaused).toBe(false);
    await clock.advance(1_000);
    expect(counted(cluster)).toEqual(everyKey([1, 2]));
    expect(cluster.group('app').generation).toBe(generation);
    await streams.close();
  });

  it('stop punctuation and restoration as well, from the start if need be', async () => {
    const cluster = newCluster();
    const before = await startHarness({ topology: counting(), cluster });
    write(cluster, 'a');
    await before.clock.advance(60_000);
    await before.streams.close();

    let ticks = 0;
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .processValues(() => new Ticking(() => ticks++))
      .groupByKey(strings)
      .count({ store: 'counts' });
    const { streams, clock } = await startHarness({
      topology: builder.build(),
      cluster,
      isPaused: true,
    });
    await clock.advance(60_000);
    expect([streams.state, ticks]).toEqual(['REBALANCING', 0]);
    streams.resume();
    await clock.advance(2_500);
    expect([streams.state, ticks]).toEqual(['RUNNING', 2 * PARTITIONS]);
    streams.pause();
    await clock.advance(10_000);
    expect(ticks).toBe(2 * PARTITIONS);
    expect(await streams.close()).toBe(true);
  });
});

describe('155: what is paused', () => {
  it('from before the first fetch goes on when it is resumed (kafkajs#1599)', async () => {
    const cluster = newCluster();
    const topology = counting();
    const { streams, clock } = await startHarness({ topology, cluster, isPaused: true });
    write(cluster, 'a');
    await clock.advance(60_000);
    expect(counted(cluster)).toEqual({});
    streams.resume();
    await clock.advance(30_000);
    expect(counted(cluster)).toEqual(everyKey([1]));
    await streams.close();
  });

  it('by a function that then fails gets nothing again before it is resumed (kafkajs#1376)', async () => {
    const cluster = newCluster();
    const seen: string[] = [];
    const topology = counting((value) => {
      seen.push(value);
      if (seen.length > 1) return;
      streams.pause();
      throw new TimeoutError('somebody else is slow');
    });
    const { streams, clock } = await startHarness({ topology, cluster });
    write(cluster, 'a');
    await clock.advance(60_000);
    const seenWhilePaused = seen.length;
    await clock.advance(60_000);
    expect(seen).toHaveLength(seenWhilePaused);
    // What was in hand of the other partitions may be finished; the failed one is not begun again.
    expect(seenWhilePaused).toBeLessThanOrEqual(PARTITIONS);
    streams.resume();
    await clock.advance(30_000);
    expect(counted(cluster)).toEqual(everyKey([1]));
    expect(seen).toHaveLength(PARTITIONS + 1);
    await streams.close();
  });
});

describe('the uncaught exception handler', () => {
  const failing = counting((value) => {
    if (value === 'bad') throw new Error('no way');
  });

  it('replaces threads a few times only: an error that comes back ends the client', async () => {
    const cluster = newCluster();
    let asked = 0;
    const { streams, clock } = await startHarness({
      topology: failing,
      cluster,
      options: {
        uncaughtExceptionHandler: () => {
          asked++;
          return 'replace-thread';
        },
      },
    });
    const states: string[] = [];
    streams.state$.subscribe(({ state }) => states.push(state));
    cluster.log('in', 0).write([{ key: 'k0', value: 'bad' }]);
    cluster.changed('in', 0);
    await clock.advance(0);
    // Without a thread that runs it is not RUNNING.
    expect(states.slice(0, 3)).toEqual(['RUNNING', 'REBALANCING', 'RUNNING']);
    await clock.advance(120_000);
    expect(asked).toBe(THREAD_REPLACEMENTS_MAX + 1);
    expect(streams.state).toBe('ERROR');
    expect(streams.failure).toBeInstanceOf(ProcessingError);
    expect(clock.timerCount).toBe(0);
  });

  it('shuts down all instances, each with the error of the one that failed', async () => {
    const cluster = newCluster();
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek((_key, value) => {
        if (value === 'bad') throw new Error('no way');
      })
      .to('out', strings);
    // Without state a task that moves goes on at once.
    const stateless = builder.build();
    const options = { uncaughtExceptionHandler: () => 'shutdown-application' as const };
    const one = await startHarness({
      topology: stateless,
      cluster,
      config: { 'num.stream.threads': 2 },
      options,
    });
    const { clock } = one;
    const asked: string[] = [];
    const two = await startHarness({
      topology: stateless,
      cluster,
      clock,
      options: {
        uncaughtExceptionHandler: (_error, thread) => {
          asked.push(thread);
          return 'replace-thread';
        },
      },
    });
    await clock.advance(1_000);
    write(cluster, 'good');
    await clock.advance(1_000);
    const states: string[] = [];
    two.streams.state$.subscribe(({ state }) => states.push(state));
    const failed = one.streams.threads().flatMap(({ tasks }) => tasks)[0];
    const partition = failed?.inputs[0]?.partition ?? -1;
    cluster.log('in', partition).write([{ key: 'k', value: 'bad' }]);
    cluster.changed('in', partition);
    await clock.advance(SHUTDOWN_LINGER_MS);
    expect([one.streams.state, two.streams.state]).toEqual(['ERROR', 'ERROR']);
    expect(one.streams.failure).toBeInstanceOf(ProcessingError);
    expect(two.streams.failure).toBeInstanceOf(ApplicationShutdownError);
    expect(two.streams.failure?.message).toContain('no way');
    // It was not given the record in between.
    expect(states).toEqual(['RUNNING', 'REBALANCING', 'PENDING_ERROR', 'ERROR']);
    expect(asked).toEqual([]);
    expect(cluster.group('app').memberCount).toBe(0);
    expect(clock.timerCount).toBe(0);
  });

  describe('of which one misses a topic of the application (KAFKA-10357)', () => {
    function rekeyed(): Topology {
      const builder = new StreamsBuilder();
      builder
        .stream('in', strings)
        .selectKey((_key, value) => value)
        .groupByKey({ ...strings, name: 'by-value' })
        .count({ store: 'counts' })
        .toStream()
        .to('out', { key: serdes.string(), value: serdes.long() });
      return builder.build();
    }

    const topic = 'app-by-value-repartition';
    const missing = (): MissingTopicError =>
      new MissingTopicError(`There is no ${topic}`, { context: { topic } });

    it('all are told when a commit has met it', async () => {
      const cluster = newCluster();
      const one = await startHarness({ topology: rekeyed(), cluster });
      const { clock } = one;
      const two = await startHarness({ topology: rekeyed(), cluster, clock });
      await clock.advance(1_000);
      write(cluster, 'value');
      cluster.group('app').commitFailures.push(missing());
      await clock.advance(31_000);
      expect([one.streams.state, two.streams.state]).toEqual(['ERROR', 'ERROR']);
      const failures = [one.streams.failure, two.streams.failure];
      for (const failure of failures) expect(failure?.message).toContain(topic);
      expect(failures.filter((one) => one instanceof MissingTopicError)).toHaveLength(1);
      expect(failures.filter((one) => one instanceof ApplicationShutdownError)).toHaveLength(1);
      expect(cluster.group('app').memberCount).toBe(0);
      expect(clock.timerCount).toBe(0);
    });

    it('all are told when it is met in a rebalance, also the one that has just come', async () => {
      const cluster = newCluster();
      const one = await startHarness({ topology: rekeyed(), cluster });
      const { clock } = one;
      write(cluster, 'value');
      await clock.advance(1_000);
      cluster.group('app').commitFailures.push(missing());
      const two = await startHarness({ topology: rekeyed(), cluster, clock });
      await clock.advance(SHUTDOWN_LINGER_MS);
      expect([one.streams.state, two.streams.state]).toEqual(['ERROR', 'ERROR']);
      expect(one.streams.failure).toBeInstanceOf(MissingTopicError);
      expect(two.streams.failure).toBeInstanceOf(ApplicationShutdownError);
      expect(two.streams.failure?.message).toContain(topic);
      expect(cluster.group('app').memberCount).toBe(0);
      expect(clock.timerCount).toBe(0);
    });

    it('stops alone, and processes nothing until then, when the leader does not know how to tell', async () => {
      const cluster = newCluster();
      const { streams, clock } = await startHarness({ topology: rekeyed(), cluster });
      write(cluster, 'value');
      await clock.advance(1_000);
      const group = cluster.group('app');
      group.commitFailures.push(missing());
      group.userDataForLeader = (userData) =>
        encodeSubscription({ ...decodeSubscription(userData), shutdownReason: null });
      group.rebalance();
      await clock.advance(1_000);
      const { commitCount } = group;
      write(cluster, 'value');
      await clock.advance(SHUTDOWN_TELL_MAX_MS);
      expect(streams.state).toBe('ERROR');
      expect(streams.failure).toBeInstanceOf(MissingTopicError);
      expect(group.commitCount).toBe(commitCount);
      expect(clock.timerCount).toBe(0);
    });

    it('stops alone when the group does not come to tell the others', async () => {
      const cluster = newCluster();
      const { streams, clock } = await startHarness({ topology: rekeyed(), cluster });
      write(cluster, 'value');
      await clock.advance(1_000);
      const group = cluster.group('app');
      group.rebalance = () => undefined;
      group.commitFailures.push(missing());
      // The next commit, which meets it, is due.
      await clock.advance(30_000);
      expect(streams.state).not.toBe('ERROR');
      await clock.advance(SHUTDOWN_TELL_MAX_MS);
      expect(streams.state).toBe('ERROR');
      expect(streams.failure).toBeInstanceOf(MissingTopicError);
      expect(clock.timerCount).toBe(0);
    });
  });
});
