import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { ProcessingError } from '../errors.ts';
import type { Processor, ProcessorContext } from '../operators/processor-api.ts';
import type { Cancellable, PunctuationType } from '../operators/punctuation.ts';
import { serdes } from '../serdes/serdes.ts';
import { settle } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { FakeProducer } from '../testing-support/fake-producer.ts';
import { startHarness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';
import { setUpTask } from './testing-support/set-up-task.ts';

const strings = { key: serdes.string(), value: serdes.string() };

type Tick = (context: ProcessorContext<string, string>, now: number) => unknown;

const forwardTick: Tick = (context, now) => {
  const { topic, partition, offset } = context.recordMetadata ?? {};
  const value = `${String(topic)}-${String(partition)}@${String(offset)}`;
  return context.forward({ key: 'tick', value, timestamp: now });
};

/** Passes records on, and ticks every 10 ms. */
function ticking(
  type: PunctuationType,
  tick: Tick = forwardTick,
  more: Partial<Processor<string, string>> = {},
): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('a', strings)
    .process<string, string>(() => {
      let context: ProcessorContext<string, string>;
      return {
        init(given) {
          context = given;
          context.schedule(10, type, (now) => tick(context, now));
        },
        process: (record) => context.forward(record),
        ...more,
      };
    })
    .to('out', strings);
  return builder.build();
}

const at = (timestamp: number) => ({ key: 'k', value: 'v', timestamp });

describe('punctuation of a task by stream time', () => {
  it('comes right after the record that moved time on, without the place of a record', async () => {
    const { task, feed, output } = await setUpTask({ topology: ticking('stream-time') });
    feed('a', at(5), at(9), at(10), at(35), at(30), at(41));
    expect(task.process(10, 0)).toBe(6);
    expect(await output()).toEqual([
      'k=v@5',
      'tick=null--1@-1@5',
      'k=v@9',
      'k=v@10',
      'tick=null--1@-1@10',
      'k=v@35',
      'tick=null--1@-1@35',
      'k=v@30',
      'k=v@41',
      'tick=null--1@-1@41',
    ]);
  });

  it('holds the task up when it is asynchronous, and nothing else', async () => {
    const gates: (() => void)[] = [];
    const topology = ticking('stream-time', async (context, now) => {
      await new Promise<void>((resolve) => gates.push(resolve));
      await context.forward({ key: 'tick', value: '', timestamp: now });
    });
    const { task, feed, output, resumedCount } = await setUpTask({ topology });
    feed('a', at(5), at(9), at(20));
    expect(task.process(10, 0)).toBe(1);
    expect(task.hasRecordInHand).toBe(true);
    expect(task.process(10, 0)).toBe(0);
    // The record itself is done.
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(1n);
    gates.shift()?.();
    await settle();
    expect(resumedCount()).toBe(1);
    expect(task.process(10, 0)).toBe(2);
    gates.shift()?.();
    await task.finishRecordInHand();
    expect(await output()).toEqual(['k=v@5', 'tick=@5', 'k=v@9', 'k=v@20', 'tick=@20']);
  });

  it('also follows a record that was asynchronous', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('a', strings)
      .mapValues((value) => Promise.resolve(`${value}!`))
      .process<string, string>(() => {
        let context: ProcessorContext<string, string>;
        return {
          init(given) {
            context = given;
            context.schedule(10, 'stream-time', (now) => forwardTick(context, now));
          },
          process: (record) => context.forward(record),
        };
      })
      .to('out', strings);
    const { task, feed, output } = await setUpTask({ topology: builder.build() });
    feed('a', at(5));
    expect(task.process(10, 0)).toBe(1);
    await task.finishRecordInHand();
    expect(await output()).toEqual(['k=v!@5', 'tick=null--1@-1@5']);
  });

  it.each([
    [
      'at once',
      () => {
        throw new Error('tick failed');
      },
    ],
    ['later', () => Promise.reject(new Error('tick failed'))],
  ])('ends the task with the name of the node when it fails %s', async (_when, tick) => {
    const { task, feed } = await setUpTask({ topology: ticking('stream-time', tick) });
    feed('a', at(5));
    const failure = async (): Promise<void> => {
      task.process(10, 0);
      await task.finishRecordInHand();
      task.process(10, 0);
    };
    const error = await failure().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProcessingError);
    expect(String(error)).toMatch(/KSTREAM-PROCESSOR-0000000001.*tick failed/su);
  });

  it('goes on, and keeps ticking, when the handler says so', async () => {
    let asked = 0;
    const { task, feed, output } = await setUpTask({
      topology: ticking('stream-time', () => {
        throw new Error('tick failed');
      }),
      processing: (context, record) => {
        expect([context.topic, context.partition, context.offset]).toEqual([null, -1, -1n]);
        expect(record).toBe(null);
        asked++;
        return 'continue';
      },
    });
    feed('a', at(5), at(20), at(60));
    task.process(10, 0);
    expect(await output()).toEqual(['k=v@5', 'k=v@20', 'k=v@60']);
    expect(asked).toBe(3);
    expect(task.droppedCount).toBe(3);
  });
});

describe('punctuation of a task by the wall clock', () => {
  const start = 1_700_000_000_000;

  it('is due an interval after the start, and makes a commit needed', async () => {
    const { task, output } = await setUpTask({ topology: ticking('wall-clock-time') });
    expect(task.nextDeadlineMs(start)).toBe(start + 10);
    expect(task.punctuateWallClock(start + 9)).toBe(false);
    expect(task.isCommitNeeded).toBe(false);
    expect(task.punctuateWallClock(start + 45)).toBe(true);
    expect(task.isCommitNeeded).toBe(true);
    expect(task.nextDeadlineMs(start)).toBe(start + 50);
    expect(await output()).toEqual([`tick=null--1@-1@${String(start + 45)}`]);
  });

  it('keeps to its grid however late the calls come, and makes one call of those that were missed', async () => {
    const called: number[] = [];
    const { task } = await setUpTask({
      topology: ticking('wall-clock-time', (_, now) => called.push(now - start)),
    });
    for (const late of [9, 12, 19, 23, 58, 59, 60, 1_007, 1_009, 1_010]) {
      task.punctuateWallClock(start + late);
    }
    expect(called).toEqual([12, 23, 58, 60, 1_007, 1_010]);
    expect(task.punctuatedCount).toBe(6);
  });

  it('waits for the record in hand', async () => {
    let finish: () => void = () => undefined;
    const topology = ticking('wall-clock-time', forwardTick, {
      process: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    const { task, feed } = await setUpTask({ topology });
    feed('a', at(5));
    task.process(10, start);
    expect(task.punctuateWallClock(start + 10)).toBe(false);
    expect(task.nextDeadlineMs(start)).toBe(Infinity);
    finish();
    await task.finishRecordInHand();
    expect(task.punctuateWallClock(start + 10)).toBe(true);
  });

  it('never comes to a task that is closed, and a closing processor is waited for', async () => {
    let isClosed = false;
    const topology = ticking('wall-clock-time', forwardTick, {
      async close() {
        await settle();
        isClosed = true;
      },
    });
    const { task } = await setUpTask({ topology });
    const closing = task.close();
    expect(task.punctuateWallClock(start + 100)).toBe(false);
    expect(isClosed).toBe(false);
    await closing;
    expect(isClosed).toBe(true);
  });
});

describe('schedules that change while they run', () => {
  const start = 1_700_000_000_000;

  /** Does at each tick, and with each record, what it is told. */
  function changing(
    type: PunctuationType,
    onTick: (context: ProcessorContext<string, string>, now: number) => void,
    onRecord: (context: ProcessorContext<string, string>, value: string) => void = () => undefined,
  ): Topology {
    const builder = new StreamsBuilder();
    builder.stream('a', strings).process<string, string>(() => {
      let context: ProcessorContext<string, string>;
      return {
        init(given) {
          context = given;
          context.schedule(10, type, (now) => {
            onTick(context, now);
          });
        },
        process(record) {
          onRecord(context, record.value);
        },
      };
    });
    return builder.build();
  }

  it('one of stream time that is made by a tick ticks at once, as its grid begins at 0', async () => {
    const calls: string[] = [];
    const { task, feed } = await setUpTask({
      topology: changing('stream-time', (context, now) => {
        calls.push(`outer ${String(now)}`);
        if (calls.length > 1) return;
        context.schedule(25, 'stream-time', (inner) => calls.push(`inner ${String(inner)}`));
      }),
    });
    feed('a', at(12), at(24), at(26), at(50));
    task.process(10, start);
    expect(calls).toEqual(['outer 12', 'inner 12', 'outer 24', 'inner 26', 'outer 50', 'inner 50']);
  });

  it('one of the wall clock that is made by a tick ticks an interval after it', async () => {
    const calls: string[] = [];
    const { task } = await setUpTask({
      topology: changing('wall-clock-time', (context, now) => {
        calls.push(`outer ${String(now - start)}`);
        if (calls.length > 1) return;
        context.schedule(15, 'wall-clock-time', (inner) =>
          calls.push(`inner ${String(inner - start)}`),
        );
      }),
    });
    for (const after of [13, 20, 27, 28, 30, 43]) task.punctuateWallClock(start + after);
    expect(calls).toEqual(['outer 13', 'outer 20', 'inner 28', 'outer 30', 'outer 43', 'inner 43']);
  });

  it.each(['stream-time', 'wall-clock-time'] as const)(
    'one that a record, or its own tick, has cancelled does not tick again: %s',
    async (type) => {
      const calls: string[] = [];
      let made: Cancellable | undefined;
      const { task, feed } = await setUpTask({
        topology: changing(
          type,
          () => calls.push('tick'),
          (context, value) => {
            if (value === 'cancel') made?.cancel();
            if (value !== 'make' && value !== 'make for once') return;
            made = context.schedule(10, type, () => {
              calls.push(value);
              if (value === 'make for once') made?.cancel();
            });
          },
        ),
      });
      let time = 0;
      /** What ticks after a record, and ten ms of either time. */
      const pass = (value: string): string[] => {
        calls.length = 0;
        time += 10;
        feed('a', { key: 'k', value, timestamp: time });
        task.process(10, start + time);
        task.punctuateWallClock(start + time);
        return calls.toSorted();
      };
      pass('make');
      expect(pass('nothing')).toEqual(['make', 'tick']);
      expect(pass('nothing')).toEqual(['make', 'tick']);
      expect(pass('cancel')).toEqual(['tick']);
      expect(pass('nothing')).toEqual(['tick']);
      // Of stream time it ticks with the record that made it.
      expect([pass('make for once'), pass('nothing')].flat()).toEqual(
        type === 'stream-time'
          ? ['make for once', 'tick', 'tick']
          : ['tick', 'make for once', 'tick'],
      );
      expect(pass('nothing')).toEqual(['tick']);
    },
  );
});

describe('punctuation of a stream thread by the wall clock', () => {
  function cluster(): FakeCluster {
    const made = new FakeCluster();
    made.createTopic('a', 2);
    made.createTopic('out', 1);
    return made;
  }

  it('wakes the thread when it is due, without any record, and is committed', async () => {
    let ticks = 0;
    const topology = ticking('wall-clock-time', () => {
      ticks++;
    });
    const harness = await startHarness({
      cluster: cluster(),
      topology,
      config: { 'commit.interval.ms': 100 },
    });
    await harness.clock.advance(9);
    expect(ticks).toBe(0);
    await harness.clock.advance(1);
    // One for each task.
    expect(ticks).toBe(2);
    await harness.clock.advance(100);
    expect(ticks).toBe(22);
    // No offset moved, but what was written is flushed and stands.
    expect(harness.client.producers[0]?.flushCount).toBe(1);
    await harness.streams.close();
    await harness.clock.advance(100);
    expect(ticks).toBe(22);
  });

  it('sleeps in between, and while a tick is asynchronous', async () => {
    const gates: (() => void)[] = [];
    let yields = 0;
    const harness = await startHarness({
      cluster: cluster(),
      topology: ticking(
        'wall-clock-time',
        () => new Promise<void>((resolve) => gates.push(resolve)),
      ),
      options: {
        yieldToEventLoop: () => {
          yields++;
          return Promise.resolve();
        },
      },
    });
    await harness.clock.advance(10);
    expect(gates).toHaveLength(2);
    const before = yields;
    await harness.clock.advance(1_000);
    expect(yields - before).toBeLessThan(20);
    expect(gates).toHaveLength(2);
    for (const release of gates.splice(0)) release();
    await harness.clock.advance(0);
    // What was missed is one call.
    expect(gates).toHaveLength(2);
    for (const release of gates.splice(0)) release();
    await harness.streams.close();
  });

  it('waits until the producer has room', async () => {
    const harness = await startHarness({
      cluster: cluster(),
      topology: ticking('wall-clock-time'),
      config: { 'commit.interval.ms': 1_000 },
    });
    const [producer] = harness.client.producers as [FakeProducer];
    producer.isFull = true;
    await harness.clock.advance(100);
    await producer.flush();
    expect(harness.cluster.log('out').records()).toHaveLength(0);
    producer.drained();
    await harness.clock.advance(0);
    await producer.flush();
    expect(harness.cluster.log('out').records()).toHaveLength(2);
    await harness.streams.close();
  });

  it('ends the client with the error of a punctuator', async () => {
    const harness = await startHarness({
      cluster: cluster(),
      topology: ticking('wall-clock-time', () => {
        throw new Error('tick failed');
      }),
    });
    await harness.clock.advance(10);
    expect(harness.streams.state).toBe('ERROR');
    expect(String(harness.streams.failure)).toContain('tick failed');
  });
});
