import { describe, expect, it } from 'vitest';
import type { RecordHeaders } from '@millrace/protocol';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import {
  NoOffsetError,
  ProductionError,
  RebalanceInProgressError,
  TaskCorruptedError,
  TaskMigratedError,
  TimeoutError,
} from '../errors.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { FakeFetcher } from '../testing-support/fake-fetcher.ts';
import type { FakeProducer } from '../testing-support/fake-producer.ts';
import type { Harness, HarnessOptions } from '../testing-support/harness.ts';
import { createHarness, startHarness } from '../testing-support/harness.ts';
import type { Outcome } from '../operators/processor-node.ts';
import type { ProcessorContext } from '../operators/processor-api.ts';
import { ProcessorNode } from '../operators/processor-node.ts';
import { Topology } from '../topology/topology.ts';
import type { TaskContext } from '../operators/task-context.ts';

const strings = { key: serdes.string(), value: serdes.string() };

function copy(): Topology {
  const builder = new StreamsBuilder();
  builder.stream('in', strings).to('out', strings);
  return builder.build();
}

/** Counts per value, through a repartition topic. */
function rekeyed(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .selectKey((_, value) => value)
    .groupByKey(strings)
    .count({ store: 'counts' })
    .toStream()
    .to('out', { key: serdes.string(), value: serdes.long() });
  return builder.build();
}

function cluster(partitions = 1): FakeCluster {
  const made = new FakeCluster();
  made.createTopic('in', partitions);
  made.createTopic('out', 1);
  return made;
}

function write(to: FakeCluster, count: number, partition = 0): void {
  for (let i = 0; i < count; i++) {
    to.log('in', partition).write([{ key: 'k', value: `v${String(i)}`, timestamp: i }]);
  }
  to.changed('in', partition);
}

function metric(harness: Harness, name: string): number {
  return Number(
    harness.streams
      .metrics()
      .find((m) => m.name === name)
      ?.value(),
  );
}

async function start(options: Partial<HarnessOptions> & { topology: Topology }): Promise<Harness> {
  return startHarness({ cluster: cluster(), ...options });
}

describe('commits of a stream thread', () => {
  it('come every commit.interval.ms, and only if there is something to commit', async () => {
    const harness = await start({ topology: copy(), config: { 'commit.interval.ms': 1_000 } });
    const group = harness.cluster.group('app');
    write(harness.cluster, 3);
    await harness.clock.advance(999);
    expect(group.commitCount).toBe(0);
    await harness.clock.advance(1);
    expect(group.commitCount).toBe(1);
    expect(group.offsets.get('in-0')?.offset).toBe(3n);
    await harness.clock.advance(100_000);
    expect(group.commitCount).toBe(1);
    write(harness.cluster, 1);
    await harness.clock.advance(1_000);
    expect(group.commitCount).toBe(2);
    expect(metric(harness, 'commit-total')).toBe(2);
    expect(metric(harness, 'process-total')).toBe(4);
    await harness.streams.close();
  });

  it('never commit an offset before what came of it is acknowledged', async () => {
    const harness = await start({ topology: copy(), config: { 'commit.interval.ms': 100 } });
    const producer = harness.client.producers[0] as FakeProducer;
    let release: () => void = () => undefined;
    producer.onFlush = () =>
      new Promise((resolve) => {
        release = resolve;
      });
    write(harness.cluster, 1);
    await harness.clock.advance(1_000);
    expect(harness.cluster.group('app').commitCount).toBe(0);
    producer.onFlush = null;
    release();
    await harness.clock.advance(0);
    expect(harness.cluster.group('app').offsets.get('in-0')?.offset).toBe(1n);
    await harness.streams.close();
  });

  it('wait while the group rebalances, and are made up for', async () => {
    const harness = await start({ topology: copy(), config: { 'commit.interval.ms': 100 } });
    const group = harness.cluster.group('app');
    group.commitFailures.push(new RebalanceInProgressError('now'));
    write(harness.cluster, 1);
    await harness.clock.advance(100);
    expect(group.offsets.size).toBe(0);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.clock.advance(200);
    expect(group.offsets.get('in-0')?.offset).toBe(1n);
    await harness.streams.close();
  });

  it('169: that time out are tried again until task.timeout.ms, then the client ends in ERROR (kafka4s#1162)', async () => {
    const harness = await start({
      topology: copy(),
      config: { 'commit.interval.ms': 100, 'task.timeout.ms': 1_000 },
    });
    const group = harness.cluster.group('app');
    group.commitFailures.push(new TimeoutError('slow'), new TimeoutError('slow'));
    write(harness.cluster, 1);
    await harness.clock.advance(400);
    expect(group.offsets.get('in-0')?.offset).toBe(1n);
    for (let i = 0; i < 100; i++) group.commitFailures.push(new TimeoutError('for ever'));
    write(harness.cluster, 1);
    await harness.clock.advance(5_000);
    expect(harness.streams.state).toBe('ERROR');
    expect(harness.streams.failure?.message).toBe('for ever');
  });

  it('process again what was not delivered in time, and commit nothing of it before', async () => {
    const harness = await start({ topology: rekeyed(), config: { 'commit.interval.ms': 100 } });
    const group = harness.cluster.group('app');
    write(harness.cluster, 1);
    await harness.clock.advance(300);
    expect(group.offsets.get('in-0')?.offset).toBe(1n);
    const [producer] = harness.client.producers as [FakeProducer];
    producer.losses.set('out', new TimeoutError('late'));
    write(harness.cluster, 1);
    await harness.clock.advance(5_000);
    expect(harness.streams.state).toBe('RUNNING');
    expect(group.offsets.get('in-0')?.offset).toBe(2n);
    const values = harness.cluster.log('out').records();
    expect(values.at(-1)?.value?.readBigInt64BE()).toBeGreaterThanOrEqual(2n);
    await harness.streams.close();
  });

  it('write dead letters of what brokers refuse in the same commit', async () => {
    const made = cluster();
    made.createTopic('dlq');
    const harness = await start({
      topology: copy(),
      cluster: made,
      config: {
        'commit.interval.ms': 100,
        'production.exception.handler': 'continue',
        'errors.dead.letter.queue.topic.name': 'dlq',
      },
    });
    const [producer] = harness.client.producers as [FakeProducer];
    producer.losses.set('out', new ProductionError('refused'));
    write(harness.cluster, 2);
    await harness.clock.advance(300);
    expect(harness.cluster.group('app').offsets.get('in-0')?.offset).toBe(2n);
    expect(made.log('out').records()).toEqual([]);
    expect(
      made
        .log('dlq')
        .records()
        .map(({ value }) => String(value)),
    ).toEqual(['v0', 'v1']);
    await harness.streams.close();
  });

  it('157: of a fenced member drop its tasks, which are begun anew from what is committed (librdkafka#2933)', async () => {
    const harness = await start({ topology: rekeyed(), config: { 'commit.interval.ms': 100 } });
    const group = harness.cluster.group('app');
    const generation = group.generation;
    group.commitFailures.push(new TaskMigratedError('fenced'));
    write(harness.cluster, 2);
    await harness.clock.advance(100);
    expect(group.generation).toBe(generation + 1);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.clock.advance(1_000);
    expect(group.offsets.get('in-0')?.offset).toBe(2n);
    await harness.streams.close();
  });

  it('go on after the member was expired: what it had is read again', async () => {
    const harness = await start({ topology: copy(), config: { 'commit.interval.ms': 1_000 } });
    const group = harness.cluster.group('app');
    write(harness.cluster, 2);
    await harness.clock.advance(10);
    await group.expire('member-1');
    await harness.clock.advance(2_000);
    expect(group.offsets.get('in-0')?.offset).toBe(2n);
    // At least once: written before and after.
    expect(harness.cluster.log('out').records().length).toBeGreaterThanOrEqual(2);
    await harness.streams.close();
  });
});

/** Passes records on, and does with the task what a test wants. */
class TestNode extends ProcessorNode {
  readonly #act: (context: TaskContext, value: unknown) => void;
  #context: TaskContext | null = null;

  constructor(name: string, act: (context: TaskContext, value: unknown) => void) {
    super(name);
    this.#act = act;
  }

  override init(context: TaskContext): void {
    this.#context = context;
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    this.#act(this.#context as TaskContext, value);
    return this.children.forward(key, value, old, timestamp, headers);
  }
}

function through(act: (context: TaskContext, value: unknown) => void): Topology {
  return new Topology()
    .addSource('source', 'in', strings)
    .addProcessor('node', (name) => new TestNode(name, act), 'source')
    .addSink('sink', 'out', strings, 'node');
}

describe('what a node may ask of its task', () => {
  it('a commit, which comes at once', async () => {
    const harness = await start({
      topology: through((context, value) => {
        if (value === 'v2') context.requestCommit();
      }),
    });
    write(harness.cluster, 5);
    await harness.clock.advance(0);
    expect(harness.cluster.group('app').offsets.get('in-0')?.offset).toBe(5n);
    await harness.streams.close();
  });

  it('the place and the times of the record', async () => {
    const seen: unknown[] = [];
    const harness = await start({
      topology: through((context) => {
        const { topic, partition } = context;
        seen.push([topic, partition, context.offset(), context.currentStreamTimeMs()]);
        expect(context.currentSystemTimeMs()).toBe(harness.clock.now());
      }),
    });
    write(harness.cluster, 2);
    await harness.clock.advance(0);
    expect(seen).toEqual([
      ['in', 0, 0n, 0],
      ['in', 0, 1n, 1],
    ]);
    await harness.streams.close();
  });

  it('to have records that it drops counted', async () => {
    const harness = await start({
      topology: through((context) => {
        context.recordDropped('node', 'null key');
      }),
    });
    write(harness.cluster, 2);
    await harness.clock.advance(0);
    expect(metric(harness, 'dropped-records-total')).toBe(2);
    await harness.streams.close();
  });

  it('to be begun anew when its state cannot be trusted', async () => {
    let failures = 1;
    const harness = await start({
      topology: through((_, value) => {
        if (value === 'v1' && failures-- > 0) throw new TaskCorruptedError('store is broken');
      }),
    });
    write(harness.cluster, 3);
    await harness.clock.advance(30_000);
    expect(harness.streams.state).toBe('RUNNING');
    expect(metric(harness, 'task-closed-total')).toBe(1);
    expect(harness.cluster.group('app').offsets.get('in-0')?.offset).toBe(3n);
    // v0 was not committed before: it comes again.
    const values = harness.cluster
      .log('out')
      .records()
      .map(({ value }) => String(value));
    expect(values).toEqual(['v0', 'v0', 'v1', 'v2']);
    await harness.streams.close();
  });
});

describe('purge of repartition topics', () => {
  const config = { 'commit.interval.ms': 1_000, 'delete.interval.ms': 5_000 } as const;
  const topic = 'app-counts-repartition';

  it('follows a commit, at most every delete.interval.ms, up to the committed offset', async () => {
    const harness = await start({ topology: rekeyed(), config });
    const { cluster: made, clock } = harness;
    for (let second = 1; second <= 12; second++) {
      write(made, 10);
      await clock.advance(1_000);
    }
    const committed = made.group('app').offsets.get(`${topic}-0`)?.offset ?? 0n;
    expect(made.deleteRequests).toHaveLength(2);
    for (const request of made.deleteRequests) {
      for (const { offset } of request) expect(offset).toBeLessThanOrEqual(committed);
    }
    expect(made.log(topic).logStartOffset).toBeGreaterThan(0n);
    expect(made.log(topic).logStartOffset).toBeLessThanOrEqual(committed);
    // Neither source topics nor changelogs are ever deleted from.
    expect(made.log('in').logStartOffset).toBe(0n);
    expect(made.log('app-counts-changelog').logStartOffset).toBe(0n);
    expect(metric(harness, 'purge-total')).toBe(2);
    await harness.streams.close();
    expect(made.deleteRequests).toHaveLength(2);
  });

  it('does not happen before a commit, or when commits fail', async () => {
    const harness = await start({ topology: rekeyed(), config });
    const group = harness.cluster.group('app');
    for (let i = 0; i < 1_000; i++) {
      group.commitFailures.push(new RebalanceInProgressError('still'));
    }
    write(harness.cluster, 10);
    await harness.clock.advance(30_000);
    expect(harness.cluster.deleteRequests).toEqual([]);
    group.commitFailures.length = 0;
    await harness.clock.advance(10_000);
    expect(harness.cluster.deleteRequests.length).toBeGreaterThan(0);
    await harness.streams.close();
  });

  it('happens in the next interval when one was under way at the last commit', async () => {
    const harness = await start({ topology: rekeyed(), config });
    const { cluster: made, clock } = harness;
    const held: (() => void)[] = [];
    made.onDeleteRecords = () =>
      new Promise((resolve) => {
        held.push(resolve);
      });
    write(made, 10);
    await clock.advance(6_000);
    expect(made.deleteRequests).toHaveLength(1);
    write(made, 10);
    await clock.advance(10_000);
    expect(made.deleteRequests).toHaveLength(1);
    held.shift()?.();
    made.onDeleteRecords = null;
    await clock.advance(10_000);
    expect(made.deleteRequests).toHaveLength(2);
    expect(made.log(topic).logStartOffset).toBe(20n);
    await harness.streams.close();
  });

  it('never stops an application when it fails', async () => {
    const harness = await start({ topology: rekeyed(), config });
    harness.cluster.onDeleteRecords = () => Promise.reject(new Error('not authorized'));
    write(harness.cluster, 10);
    await harness.clock.advance(30_000);
    expect(harness.streams.state).toBe('RUNNING');
    expect(metric(harness, 'purge-failed-total')).toBeGreaterThan(0);
    await harness.streams.close();
  });
});

describe('a task that cannot be opened', () => {
  it('is tried again when the offsets cannot be asked for yet', async () => {
    const made = cluster();
    write(made, 3);
    made.group('app').committedFailures.push(new TimeoutError('no coordinator yet'));
    const harness = await start({ topology: copy(), cluster: made });
    expect(harness.streams.state).toBe('REBALANCING');
    await harness.clock.advance(30_000);
    expect(harness.streams.state).toBe('RUNNING');
    expect(made.log('out').records()).toHaveLength(3);
    await harness.streams.close();
    expect(harness.clock.timerCount).toBe(0);
  });

  it('is begun anew by a rebalance that comes before its next try', async () => {
    const made = cluster();
    write(made, 3);
    made.group('app').committedFailures.push(new TimeoutError('no coordinator yet'));
    const harness = await start({ topology: copy(), cluster: made });
    made.group('app').rebalance();
    await harness.clock.advance(30_000);
    expect(harness.streams.state).toBe('RUNNING');
    expect(made.log('out').records()).toHaveLength(3);
    await harness.streams.close();
  });

  it('ends the client after task.timeout.ms', async () => {
    const made = cluster();
    for (let i = 0; i < 100; i++) {
      made.group('app').committedFailures.push(new TimeoutError('never'));
    }
    const harness = await start({
      topology: copy(),
      cluster: made,
      config: { 'task.timeout.ms': 1_000 },
    });
    await harness.clock.advance(3_000);
    expect(harness.streams.state).toBe('ERROR');
  });

  it('ends the client when a user function fails in init', async () => {
    const topology = new Topology()
      .addSource('source', 'in', strings)
      .addProcessor(
        'node',
        (name) =>
          new (class extends TestNode {
            override init(): void {
              throw new Error('no database');
            }
          })(name, () => undefined),
        'source',
      )
      .addSink('sink', 'out', strings, 'node');
    const harness = await start({ topology });
    await harness.clock.advance(0);
    expect(harness.streams.state).toBe('ERROR');
    expect(harness.streams.failure?.message).toContain('no database');
  });
});

describe('the loop of a stream thread', () => {
  it('never starves the event loop, even with a commit interval of 0 and a purge that hangs', async () => {
    const harness = await start({
      topology: rekeyed(),
      config: { 'commit.interval.ms': 0, 'delete.interval.ms': 0 },
    });
    harness.cluster.onDeleteRecords = () => new Promise(() => undefined);
    write(harness.cluster, 5);
    await harness.clock.advance(1_000);
    write(harness.cluster, 5);
    await harness.clock.advance(1_000);
    expect(harness.cluster.group('app').offsets.get('in-0')?.offset).toBe(10n);
    expect(harness.cluster.deleteRequests).toHaveLength(1);
    expect(await harness.streams.close()).toBe(true);
  });

  it('gives the event loop its turn after few records when each takes long', async () => {
    const clock = new FakeClock();
    const counts: number[] = [];
    let count = 0;
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek(() => {
        count++;
        clock.elapse(50);
      })
      .to('out', strings);
    const harness = await start({
      topology: builder.build(),
      clock,
      options: {
        yieldToEventLoop: () => {
          if (count > 0) counts.push(count);
          count = 0;
          return new Promise((resolve) => {
            setImmediate(resolve);
          });
        },
      },
    });
    write(harness.cluster, 40);
    await harness.clock.advance(1_000);
    expect(counts).toEqual([8, ...Array.from({ length: 32 }, () => 1)]);
    await harness.streams.close();
  });

  it('sleeps while one partition is waited for and another has more to fetch', async () => {
    const made = cluster();
    made.createTopic('other');
    let turns = 0;
    const builder = new StreamsBuilder();
    builder.stream(['in', 'other'], strings).to('out', strings);
    const harness = await start({
      topology: builder.build(),
      cluster: made,
      config: { 'max.task.idle.ms': 500 },
      options: {
        yieldToEventLoop: () => {
          turns++;
          return new Promise((resolve) => {
            setImmediate(resolve);
          });
        },
      },
    });
    write(made, 3);
    await harness.clock.advance(499);
    expect(made.log('out').records()).toHaveLength(0);
    const before = turns;
    await harness.clock.advance(1);
    await harness.clock.advance(30_000);
    expect(made.log('out').records()).toHaveLength(3);
    expect(turns - before).toBeLessThan(10);
    await harness.streams.close();
  });

  it('lets the next fetch leave before it processes what has arrived', async () => {
    const steps: string[] = [];
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek(() => void steps.push('process'))
      .to('out', strings);
    const harness = await start({
      topology: builder.build(),
      options: {
        yieldToEventLoop: () => {
          steps.push('turn');
          return new Promise((resolve) => {
            setImmediate(resolve);
          });
        },
      },
    });
    const fetcher = harness.client.fetchers[0] as FakeFetcher;
    const drain = fetcher.drain.bind(fetcher);
    fetcher.drain = () => {
      const fetched = drain();
      if (fetched.length > 0) steps.push('take');
      return fetched;
    };
    steps.length = 0;
    write(harness.cluster, 2);
    await harness.clock.advance(0);
    // A fetcher sends its next request in the turn after what it has was taken.
    expect(steps.slice(0, 4)).toEqual(['take', 'turn', 'process', 'process']);
    await harness.streams.close();
  });

  it('processes nothing while the producer is full, and goes on when it has drained', async () => {
    const harness = await start({ topology: copy() });
    const producer = harness.client.producers[0] as FakeProducer;
    producer.isFull = true;
    write(harness.cluster, 5);
    await harness.clock.advance(1_000);
    expect(metric(harness, 'process-total')).toBe(0);
    producer.drained();
    await harness.clock.advance(0);
    expect(metric(harness, 'process-total')).toBe(5);
    await harness.streams.close();
  });

  it('leaves a partition out of fetches while its queue is full, and keeps its memory bounded', async () => {
    const made = cluster();
    const value = 'x'.repeat(200_000);
    const log = made.log('in');
    for (let i = 0; i < 100; i++) log.write([{ key: 'k', value, timestamp: i }]);
    const gates: (() => void)[] = [];
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek(
        () =>
          new Promise<void>((resolve) => {
            gates.push(resolve);
          }),
      )
      .mapValues((text) => String(text.length), { value: serdes.string() })
      .to('out', strings);
    const harness = await start({
      topology: builder.build(),
      cluster: made,
      config: { 'buffered.records.per.partition': 10 },
    });
    const fetcher = harness.client.fetchers[0];
    await harness.clock.advance(1_000);
    const positionWhenFull = fetcher?.position('in', 0) ?? 0n;
    expect(fetcher?.pauses).toEqual(['in-0']);
    expect(positionWhenFull).toBeLessThan(40n);
    for (let i = 0; i < 100; i++) {
      gates.shift()?.();
      await harness.clock.advance(1);
    }
    await harness.clock.advance(30_000);
    expect(made.group('app').offsets.get('in-0')?.offset).toBe(100n);
    expect(made.log('out').records()).toHaveLength(100);
    await harness.streams.close();
  });

  it('lets other tasks go on while one waits for a promise', async () => {
    const made = cluster(2);
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek((key) => (key === 'slow' ? new Promise<void>(() => undefined) : undefined))
      .to('out', strings);
    const harness = await start({ topology: builder.build(), cluster: made });
    made.log('in', 0).write([{ key: 'slow', value: '1' }]);
    made.changed('in', 0);
    write(made, 10, 1);
    await harness.clock.advance(30_000);
    const offsets = made.group('app').offsets;
    expect(offsets.get('in-1')?.offset).toBe(10n);
    expect(offsets.has('in-0')).toBe(false);
    void harness.streams.close({ timeoutMs: 10 });
    await harness.clock.advance(10);
  });

  it('154: begins only the task anew whose record has failed (kafkajs#946)', async () => {
    const made = cluster(2);
    let failures = 3;
    let othersCount = 0;
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek((key) => {
        if (key === 'bad' && failures-- > 0) throw new TimeoutError('somebody else is slow');
        if (key !== 'bad') othersCount++;
      })
      .to('out', strings);
    const harness = await start({ topology: builder.build(), cluster: made });
    made.log('in', 0).write([{ key: 'bad', value: 'late', timestamp: 0 }]);
    made.changed('in', 0);
    write(made, 10, 1);
    await harness.clock.advance(50);
    expect([othersCount, failures]).toEqual([10, 2]);
    await harness.clock.advance(30_000);
    expect(othersCount).toBe(10);
    expect(made.group('app').generation).toBe(1);
    expect(made.log('out').records()).toHaveLength(11);
    const { offsets } = made.group('app');
    expect([offsets.get('in-0')?.offset, offsets.get('in-1')?.offset]).toEqual([1n, 10n]);
    await harness.streams.close();
  });

  it('ends when a record is in hand for longer than max.poll.interval.ms, even without input', async () => {
    const made = cluster(1);
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek(() => new Promise<void>(() => undefined))
      .to('out', strings);
    const harness = await start({
      topology: builder.build(),
      cluster: made,
      config: { 'max.poll.interval.ms': 600_000 },
    });
    write(made, 1);
    await harness.clock.advance(600_000);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.clock.advance(31_000);
    expect(harness.streams.state).toBe('PENDING_ERROR');
    expect(harness.streams.failure?.message).toMatch(
      /record of 0_0 is still in hand after max\.poll\.interval\.ms \(600000\).*timeout/,
    );
    await harness.clock.advance(60_000);
    expect(harness.streams.state).toBe('ERROR');
  });

  it('160: finishes the record in hand before it gives up its tasks (PostHog/posthog#80897)', async () => {
    const made = cluster(1);
    let finish: () => void = () => undefined;
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek(
        () =>
          new Promise<void>((resolve) => {
            finish = resolve;
          }),
      )
      .to('out', strings);
    const topology = builder.build();
    const harness = await start({ topology, cluster: made });
    write(made, 1);
    await harness.clock.advance(0);
    made.group('app').rebalance();
    await harness.clock.advance(100);
    expect(made.group('app').isRebalancing).toBe(true);
    finish();
    await harness.clock.advance(0);
    expect(made.group('app').isRebalancing).toBe(false);
    expect(made.group('app').offsets.get('in-0')?.offset).toBe(1n);
    expect(made.log('out').records()).toHaveLength(1);
    await harness.streams.close();
  });

  it('160: finishes and commits what is in hand, then gives up only the task that goes elsewhere (PostHog/posthog#80897)', async () => {
    const made = cluster(2);
    const done: string[] = [];
    let finish: () => void = () => undefined;
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .peek(async (key) => {
        if (key === 'slow') await new Promise<void>((resolve) => (finish = resolve));
        done.push(key);
      })
      .to('out', strings);
    const topology = builder.build();
    const first = await start({ topology, cluster: made });
    made.log('in', 0).write([{ key: 'slow', value: 'v' }]);
    made.changed('in', 0);
    await first.clock.advance(10);
    const second = createHarness({ topology, cluster: made, clock: first.clock });
    void second.streams.start();
    await first.clock.advance(100);
    expect(made.group('app').isRebalancing).toBe(true);
    // Nothing new is begun meanwhile.
    made.log('in', 1).write([{ key: 'next', value: 'v' }]);
    made.changed('in', 1);
    await first.clock.advance(100);
    expect(done).toEqual([]);
    finish();
    await first.clock.advance(30_000);
    // Each once, whoever has its partition by now.
    expect(done.toSorted()).toEqual(['next', 'slow']);
    expect(metric(first, 'task-closed-total')).toBe(1);
    expect(made.log('out').records()).toHaveLength(2);
    await second.streams.close();
    await first.streams.close();
  });

  it('keeps its tasks over a rebalance that leaves them where they are', async () => {
    const harness = await start({ topology: rekeyed() });
    const created = metric(harness, 'task-created-total');
    write(harness.cluster, 3);
    harness.cluster.group('app').rebalance();
    await harness.clock.advance(60_000);
    expect(metric(harness, 'task-created-total')).toBe(created);
    expect(metric(harness, 'task-closed-total')).toBe(0);
    await harness.streams.close();
  });

  it('158: goes on in every partition, however often the group rebalances (confluent-kafka-javascript#476)', async () => {
    const made = cluster(3);
    let count = 0;
    const builder = new StreamsBuilder();
    builder.stream('in', strings).foreach(() => {
      count++;
    });
    const harness = await start({ topology: builder.build(), cluster: made });
    for (let round = 1; round <= 30; round++) {
      // Before, after, and while a member comes and goes.
      if (round % 2 === 0) made.group('app').rebalance();
      for (const partition of [0, 1, 2]) write(made, 1, partition);
      if (round % 3 === 0) made.group('app').rebalance();
      await harness.clock.advance(20);
      expect(count).toBe(3 * round);
    }
    await harness.streams.close();
  });

  it('161: has one task for a partition that is taken away and given back at once (zio-kafka#280, #1294)', async () => {
    const made = cluster(1);
    let openCount = 0;
    let openMax = 0;
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .process<string, string>(() => {
        let context: ProcessorContext<string, string>;
        return {
          init(given) {
            context = given;
            openMax = Math.max(openMax, ++openCount);
          },
          process: (record) => context.forward(record),
          close() {
            openCount--;
          },
        };
      })
      .to('out', strings);
    const harness = await start({ topology: builder.build(), cluster: made });
    const group = made.group('app');
    for (let round = 0; round < 5; round++) {
      const [member = ''] = harness.client.members.map(({ memberId }) => memberId);
      await Promise.all([group.expire(member), group.expire(member)]);
      group.rebalance();
      await harness.clock.advance(100);
    }
    write(made, 3);
    await harness.clock.advance(30_000);
    expect([openCount, openMax]).toEqual([1, 1]);
    expect(made.log('out').records()).toHaveLength(3);
    await harness.streams.close();
    expect(openCount).toBe(0);
  });

  it('goes on where the reset policy says when its position is out of range', async () => {
    const made = cluster();
    write(made, 10);
    made.group('app').offsets.set('in-0', { offset: 2n, metadata: '' });
    made.log('in').deleteUpTo(6n);
    const harness = await start({ topology: copy(), cluster: made });
    await harness.clock.advance(30_000);
    expect(made.log('out').records()).toHaveLength(4);
    expect(made.group('app').offsets.get('in-0')?.offset).toBe(10n);
    await harness.streams.close();
  });

  it('ends in ERROR and names the partition when there is no offset and no policy', async () => {
    const made = cluster();
    write(made, 1);
    const harness = createHarness({
      topology: copy(),
      cluster: made,
      config: { 'auto.offset.reset': 'none' },
    });
    const ended = harness.streams.run().catch((error: unknown) => error);
    await harness.clock.advance(0);
    expect(await ended).toBeInstanceOf(NoOffsetError);
    expect(harness.streams.failure?.message).toContain('in-0');
  });

  it('starts at the end with auto.offset.reset=latest', async () => {
    const made = cluster();
    write(made, 5);
    const harness = await start({
      topology: copy(),
      cluster: made,
      config: { 'auto.offset.reset': 'latest' },
    });
    write(made, 2);
    await harness.clock.advance(30_000);
    expect(made.log('out').records()).toHaveLength(2);
    await harness.streams.close();
  });

  it('175: ends in ERROR and names a sink topic that is missing (KAFKA-16508, KAFKA-15951)', async () => {
    const made = new FakeCluster();
    made.createTopic('in');
    const harness = createHarness({ topology: copy(), cluster: made });
    const ended = harness.streams.run().catch((error: unknown) => error);
    await harness.clock.advance(0);
    expect(String(await ended)).toContain('out');
    expect(harness.streams.state).toBe('ERROR');
  });

  it('175: ends in ERROR and names a repartition topic that was deleted (KAFKA-10357)', async () => {
    const harness = await start({ topology: rekeyed() });
    write(harness.cluster, 3);
    await harness.clock.advance(100);
    const [repartition = ''] = harness.cluster
      .topicNames()
      .filter((name) => name.endsWith('-repartition'));
    harness.cluster.deleteTopic(repartition);
    harness.cluster.changed(repartition);
    await harness.clock.advance(1_000);
    expect(harness.streams.state).toBe('ERROR');
    expect(harness.streams.failure?.message).toContain(repartition);
    expect(harness.cluster.topicNames()).not.toContain(repartition);
  });
});
