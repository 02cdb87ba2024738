import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { TaskMigratedError, TimeoutError } from '../errors.ts';
import type { Awaitable } from '../operators/outcome.ts';
import type { Processor, ProcessorContext } from '../operators/processor-api.ts';
import type { StreamRecord } from '../operators/stream-record.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import {
  FakeTransactionalProducer,
  type CommitStep,
} from '../testing-support/fake-transactional-producer.ts';
import type { Harness } from '../testing-support/harness.ts';
import { createHarness, startHarness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const text = serdes.string();
const COMMIT_MS = 100;
const CONFIG = {
  'processing.guarantee': 'exactly_once_v2',
  'statestore.cache.max.bytes': 0,
} as const;

/** Counts per key; `onRecord` sees each before it is counted. */
function counting(onRecord: (value: string) => void = () => undefined): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', { key: text, value: text })
    .peek((_key, value) => {
      onRecord(value);
    })
    .groupByKey({ key: text, value: text })
    .count({ store: 'counts' })
    .toStream()
    .to('out', { key: text, value: serdes.long() });
  return builder.build();
}

/** Writes each record to `early`, then waits for `onRecord`, then writes it to `out`. */
function waiting(onRecord: (value: string) => Promise<void>): Topology {
  const builder = new StreamsBuilder();
  const input = builder.stream('in', { key: text, value: text });
  input.to('early', { key: text, value: text });
  input
    .peek(async (_key, value) => {
      await onRecord(value);
    })
    .to('out', { key: text, value: text });
  return builder.build();
}

/** Promises that the test settles, one after the other as they were asked for. */
class Gate {
  readonly #waiting: { resolve: () => void; reject: (error: Error) => void }[] = [];

  get waitingCount(): number {
    return this.#waiting.length;
  }

  wait(): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  open(): void {
    this.#waiting.shift()?.resolve();
  }

  fail(error: Error): void {
    this.#waiting.shift()?.reject(error);
  }
}

/** The one of the second task starts when the gate is opened. */
class StartsLate<V> implements Processor<string, V> {
  readonly #gate: Gate;
  #context: ProcessorContext<string, V> | null = null;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  init(context: ProcessorContext<string, V>): Promise<void> | undefined {
    this.#context = context;
    return context.taskId === '0_1' ? this.#gate.wait() : undefined;
  }

  process(record: StreamRecord<string, V>): Awaitable<unknown> {
    return this.#context?.forward(record);
  }
}

function clusterOf(partitions: number): FakeCluster {
  const cluster = new FakeCluster();
  cluster.createTopic('in', partitions);
  cluster.createTopic('early', 1);
  cluster.createTopic('out', 1);
  return cluster;
}

async function start(
  topology: Topology,
  partitions = 1,
  config: Record<string, string | number> = {},
): Promise<Harness> {
  const cluster = clusterOf(partitions);
  return startHarness({ topology, cluster, config: { ...CONFIG, ...config } });
}

/** Producers that are opened from now on find their coordinator away, so many times. */
function failToBegin({ client }: Harness, count: number): void {
  const open = client.transactionalProducer.bind(client);
  client.transactionalProducer = (options) => {
    const opened = open(options);
    if (opened instanceof FakeTransactionalProducer) {
      for (let i = 0; i < count; i++) opened.initFailures.push(new TimeoutError('away'));
    }
    return opened;
  };
}

function committedCount({ cluster }: Harness, topic: string): number {
  return cluster.log(topic).committedRecords().length;
}

function write({ cluster }: Harness, value: string, partition = 0): void {
  cluster.log('in', partition).write([{ key: `k${String(partition)}`, value, timestamp: 1 }]);
  cluster.changed('in', partition);
}

/** As a long serde writes it, for the least of numbers. */
function long(value: number): string {
  return String.fromCharCode(0, 0, 0, 0, 0, 0, 0, value);
}

/** What readers of committed records see, per key. */
function committed({ cluster }: Harness): Record<string, number[]> {
  const counts: Record<string, number[]> = {};
  for (const { key, value } of cluster.log('out').committedRecords()) {
    (counts[String(key)] ??= []).push(Number(Buffer.from(value as Uint8Array).readBigInt64BE()));
  }
  return counts;
}

function producer({ client }: Harness): FakeTransactionalProducer {
  return client.transactionalProducers.at(-1) as FakeTransactionalProducer;
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

describe('exactly once', () => {
  it('shows outputs and offsets together, when they are committed, every 100 ms', async () => {
    const harness = await start(counting());
    for (let i = 0; i < 5; i++) write(harness, 'v');
    await harness.clock.advance(COMMIT_MS - 1);
    expect(committed(harness)).toEqual({});
    expect(harness.cluster.group('app').offsets.size).toBe(0);
    await harness.clock.advance(1);
    expect(committed(harness)).toEqual({ k0: upTo(5) });
    expect(harness.cluster.group('app').offsets.get('in-0')?.offset).toBe(5n);
    expect(harness.cluster.transactions.commitCount).toBe(1);
    expect(producer(harness).transactionalId).toMatch(/^app-.+-1$/);
    await harness.streams.close();
  });

  it('undoes what was not committed when a record fails in one of the tasks, for all of them', async () => {
    let failures = 1;
    const harness = await start(
      counting((value) => {
        if (value === 'late' && failures-- > 0) throw new TimeoutError('somebody else is slow');
      }),
      2,
    );
    write(harness, 'v', 0);
    write(harness, 'v', 1);
    await harness.clock.advance(COMMIT_MS);
    write(harness, 'v', 0);
    await harness.clock.advance(1);
    await producer(harness).flush();
    write(harness, 'late', 1);
    await harness.clock.advance(2_000);
    expect(committed(harness)).toEqual({ k0: upTo(2), k1: upTo(2) });
    // What the other task had written is there as well, and hidden.
    expect(harness.cluster.log('out').records().length).toBeGreaterThan(4);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.streams.close();
  });

  it.each<CommitStep>(['flush', 'offsets', 'end', 'ended'])(
    '100: counts nothing twice and loses nothing when a commit times out at its step "%s" (KAFKA-9274)',
    async (failing) => {
      const harness = await start(counting(), 2);
      write(harness, 'v', 0);
      await harness.clock.advance(COMMIT_MS);
      let isFailing = true;
      producer(harness).onCommitStep = (step) => {
        if (step !== failing || !isFailing) return;
        isFailing = false;
        throw new TimeoutError('no answer');
      };
      for (let i = 0; i < 3; i++) {
        write(harness, 'v', 0);
        write(harness, 'v', 1);
      }
      await harness.clock.advance(5_000);
      expect(isFailing).toBe(false);
      write(harness, 'v', 1);
      await harness.clock.advance(COMMIT_MS);
      expect(committed(harness)).toEqual({ k0: upTo(4), k1: upTo(4) });
      await harness.streams.close();
    },
  );

  it('goes on with a new producer when its own was fenced', async () => {
    const harness = await start(counting());
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    producer(harness).fence();
    write(harness, 'v');
    await harness.clock.advance(5_000);
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    expect(harness.client.transactionalProducers).toHaveLength(2);
    expect(committed(harness)).toEqual({ k0: upTo(3) });
    await harness.streams.close();
  });

  it.each(['flush', 'offsets', 'end', 'abort'] as const)(
    '82: goes on with a new producer when its own is fenced at its step "%s" (KAFKA-7284, KAFKA-9231, KAFKA-10813, KAFKA-16699, streamiz#385)',
    async (step) => {
      const harness = await start(counting());
      write(harness, 'v');
      await harness.clock.advance(COMMIT_MS);
      const own = producer(harness);
      const abort = own.abortTransaction.bind(own);
      own.onCommitStep = (at) => {
        if (step === 'abort') throw new TimeoutError('no answer');
        if (at === step) own.fence();
      };
      if (step === 'abort') {
        own.abortTransaction = () => {
          own.fence();
          return abort();
        };
      }
      write(harness, 'v');
      await harness.clock.advance(5_000);
      write(harness, 'v');
      await harness.clock.advance(COMMIT_MS);
      expect(committed(harness)).toEqual({ k0: upTo(3) });
      expect(harness.streams.state).toBe('RUNNING');
      expect(harness.cluster.group('app').offsets.get('in-0')?.offset).toBe(3n);
      await harness.streams.close();
    },
  );

  it('commits nothing for tasks that are others by now', async () => {
    const harness = await start(counting());
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    let refusals = 0;
    producer(harness).onCommitStep = (step) => {
      if (step === 'offsets' && refusals++ === 0) throw new TaskMigratedError('another generation');
    };
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    expect(refusals).toBe(1);
    expect(committed(harness)).toEqual({ k0: upTo(1) });
    await harness.clock.advance(5_000);
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    expect(committed(harness)).toEqual({ k0: upTo(3) });
    await harness.streams.close();
  });

  it('83, 98: commits nothing, changelogs included, when its member was lost while it flushed (KAFKA-12693, iceberg-kafka-connect#200)', async () => {
    const harness = await start(counting());
    const group = harness.cluster.group('app');
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    const gate = new Gate();
    const own = producer(harness);
    const flush = own.flush.bind(own);
    own.flush = async () => {
      own.flush = flush;
      await gate.wait();
      await flush();
    };
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    expect(gate.waitingCount).toBe(1);
    const expired = group.expire('member-1');
    // Whoever has the tasks now is through with the record.
    group.offsets.set('in-0', { offset: 2n, metadata: '' });
    gate.open();
    await harness.clock.advance(5_000);
    await expired;
    expect(committed(harness)).toEqual({ k0: upTo(1) });
    expect(committedCount(harness, 'app-counts-changelog')).toBe(1);
    await harness.streams.close();
  });

  it('restores what was committed, and no more, after a death in the middle of a transaction', async () => {
    const first = await start(counting());
    for (let i = 0; i < 3; i++) write(first, 'v');
    await first.clock.advance(COMMIT_MS);
    // What a process that died has left: processed, sent, and never committed.
    const { cluster } = first;
    const dead = first.client.transactionalProducers[0] as FakeTransactionalProducer;
    write(first, 'v');
    await first.clock.advance(1);
    await dead.flush();
    expect(cluster.log('out').records().length).toBeGreaterThan(3);
    cluster.group('app').remove('member-1');
    // `transaction.timeout.ms` is over.
    cluster.transactions.init(dead.transactionalId);
    const second = await startHarness({ topology: counting(), cluster, config: CONFIG });
    write(second, 'v');
    await second.clock.advance(15_000);
    expect(committed(second)).toEqual({ k0: upTo(5) });
    await second.streams.close();
  });

  it('tries again while the coordinator is away at the start', async () => {
    const cluster = clusterOf(1);
    const harness = createHarness({ topology: counting(), cluster, config: CONFIG });
    failToBegin(harness, 2);
    await harness.streams.start();
    await harness.clock.advance(0);
    expect(cluster.group('app').memberCount).toBe(0);
    await harness.clock.advance(2_000);
    expect(producer(harness).initFailures).toEqual([]);
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    expect(committed(harness)).toEqual({ k0: upTo(1) });
    await harness.streams.close();
  });

  it('stops at once while it tries in vain to abort', async () => {
    const harness = await start(counting());
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    const own = producer(harness);
    for (let i = 0; i < 100; i++) own.abortFailures.push(new TimeoutError('away'));
    own.onCommitStep = () => {
      throw new TimeoutError('no answer');
    };
    write(harness, 'v');
    await harness.clock.advance(3_000);
    expect(own.abortFailures.length).toBeLessThan(100);
    own.abortFailures.length = 0;
    // Nothing is left that would have to be waited for: the clock stands still.
    await harness.streams.close();
    expect(harness.streams.state).toBe('NOT_RUNNING');
    expect(committed(harness)).toEqual({ k0: upTo(1) });
  });

  it('does not commit at a stop what a task has written that had to be given up', async () => {
    const gate = new Gate();
    const builder = new StreamsBuilder();
    builder
      .stream('in', { key: text, value: serdes.long(), timestampExtractor: () => 1 })
      .process(() => new StartsLate(gate))
      .peek((_key, value) => {
        if (value === 2) throw new TimeoutError('somebody else is slow');
      })
      .to('out', { key: text, value: serdes.long() });
    const harness = await start(builder.build(), 2, {
      'deserialization.exception.handler': 'continue',
    });
    write(harness, long(1), 0);
    await harness.clock.advance(1);
    write(harness, long(2), 0);
    // The other task comes to have something to commit: a record that it skips.
    gate.open();
    write(harness, 'not a long', 1);
    await harness.clock.advance(1);
    await producer(harness).flush();
    await harness.streams.close();
    expect(harness.cluster.log('out').records().length).toBe(1);
    expect(committedCount(harness, 'out')).toBe(0);
  });

  it('goes on trying to begin with a new producer whose coordinator is away', async () => {
    const harness = await start(counting());
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    failToBegin(harness, 1);
    producer(harness).fence();
    write(harness, 'v');
    await harness.clock.advance(5_000);
    expect(producer(harness).initFailures).toEqual([]);
    expect(committed(harness)).toEqual({ k0: upTo(2) });
    await harness.streams.close();
  });

  it('begins a task anew that was being started when the producer was replaced', async () => {
    const gate = new Gate();
    const builder = new StreamsBuilder();
    builder
      .stream('in', { key: text, value: text })
      .process(() => new StartsLate(gate))
      .to('out', { key: text, value: text });
    const harness = await start(builder.build(), 2);
    write(harness, 'v', 0);
    await harness.clock.advance(COMMIT_MS);
    expect(gate.waitingCount).toBe(1);
    producer(harness).fence();
    write(harness, 'v', 0);
    await harness.clock.advance(5_000);
    expect(harness.client.transactionalProducers).toHaveLength(2);
    gate.open();
    gate.open();
    write(harness, 'v', 1);
    await harness.clock.advance(5_000);
    expect(committedCount(harness, 'out')).toBe(3);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.streams.close();
  });
});

describe('exactly once with asynchronous functions', () => {
  it('does not commit what a record has written that is still in hand', async () => {
    const gate = new Gate();
    const harness = await start(waiting(() => gate.wait()));
    write(harness, 'v');
    await harness.clock.advance(10 * COMMIT_MS);
    expect(gate.waitingCount).toBe(1);
    expect(committedCount(harness, 'early')).toBe(0);
    gate.open();
    await harness.clock.advance(COMMIT_MS);
    expect(committedCount(harness, 'early')).toBe(1);
    expect(committedCount(harness, 'out')).toBe(1);
    await harness.streams.close();
  });

  it('undoes what a record has written that fails while a commit waits for it', async () => {
    const gate = new Gate();
    const harness = await start(waiting(() => gate.wait()));
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS);
    gate.fail(new TimeoutError('somebody else is slow'));
    await harness.clock.advance(2_000);
    expect(committedCount(harness, 'early')).toBe(0);
    gate.open();
    await harness.clock.advance(COMMIT_MS);
    expect(committedCount(harness, 'early')).toBe(1);
    expect(committedCount(harness, 'out')).toBe(1);
    await harness.streams.close();
  });

  it.each(['settles', 'fails'])(
    'aborts once the record in hand of another task %s, which writes no more',
    async (outcome) => {
      const gate = new Gate();
      let failures = 1;
      const harness = await start(
        waiting(async (value) => {
          if (value === 'slow') await gate.wait();
          else if (failures-- > 0) throw new TimeoutError('somebody else is slow');
        }),
        2,
      );
      write(harness, 'slow', 0);
      await harness.clock.advance(1);
      write(harness, 'failing', 1);
      await harness.clock.advance(2_000);
      expect(committedCount(harness, 'early')).toBe(0);
      if (outcome === 'settles') gate.open();
      else gate.fail(new TimeoutError('this one, too'));
      await harness.clock.advance(2_000);
      expect(gate.waitingCount).toBe(1);
      gate.open();
      await harness.clock.advance(COMMIT_MS);
      expect(committedCount(harness, 'early')).toBe(2);
      expect(committedCount(harness, 'out')).toBe(2);
      await harness.streams.close();
    },
  );

  it('fails with the task that has had a record in hand for longer than max.poll.interval.ms', async () => {
    const gate = new Gate();
    const harness = await start(
      waiting(() => gate.wait()),
      1,
      { 'max.poll.interval.ms': 20_000, 'task.timeout.ms': 0 },
    );
    write(harness, 'v');
    await harness.clock.advance(COMMIT_MS + 20_000 - 1);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.clock.advance(300_000);
    expect(harness.streams.state).toBe('ERROR');
    expect(harness.streams.failure?.message).toMatch(/record of 0_0 is still in hand .*20000/);
    expect(committedCount(harness, 'early')).toBe(0);
    gate.open();
    await harness.streams.close();
  });
});
