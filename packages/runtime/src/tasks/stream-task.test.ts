import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { decodePartitionMetadata } from '../commit/offsets-metadata.ts';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import type { ErrorHandlerContext } from '../error-handlers.ts';
import {
  DeserializationError,
  InvalidTimestampError,
  ProcessingError,
  ProductionError,
} from '../errors.ts';
import type { Serde } from '../serdes/serde.ts';
import { serdes } from '../serdes/serdes.ts';
import { settle } from '../testing-support/fake-clock.ts';
import { encodeBatch } from '../testing-support/fake-log.ts';
import type { Topology } from '../topology/topology.ts';
import { wallclockTimestamp } from '../topology/timestamp-extractors.ts';
import type { RecordQueue } from './record-queue.ts';
import { picky, setUpTask as setUp } from './testing-support/set-up-task.ts';

const strings = { key: serdes.string(), value: serdes.string() };

function passThrough(value: Serde<string> = serdes.string()): Topology {
  const builder = new StreamsBuilder();
  builder.stream('a', { key: serdes.string(), value }).to('out', { key: serdes.string(), value });
  return builder.build();
}

describe('StreamTask', () => {
  it('processes in slices, and writes with the time of the record', async () => {
    const { task, feed, output } = await setUp({ topology: passThrough() });
    feed('a', { key: 'k', value: '1', timestamp: 10 }, { key: 'k', value: '2', timestamp: 20 });
    expect(task.process(1, 0)).toBe(1);
    expect(task.process(10, 0)).toBe(1);
    expect(task.process(10, 0)).toBe(0);
    expect(await output()).toEqual(['k=1@10', 'k=2@20']);
    expect(task.streamTimeMs).toBe(20);
  });

  it('commits the offset of the head, or the position behind everything, with the partition time', async () => {
    const { task, feed } = await setUp({ topology: passThrough() });
    expect(task.isCommitNeeded).toBe(false);
    feed('a', { key: 'k', value: '1', timestamp: 30 }, { key: 'k', value: '2', timestamp: 20 });
    task.process(1, 0);
    expect(task.isCommitNeeded).toBe(true);
    const first = task.offsetsToCommit().get('a-0');
    expect(first?.offset).toBe(1n);
    expect(decodePartitionMetadata(first?.metadata ?? '').partitionTime).toBe(30);
    task.postCommit(task.offsetsToCommit());
    expect(task.isCommitNeeded).toBe(false);
    task.process(10, 0);
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(2n);
  });

  it('needs a commit when only the position moved, over markers for example', async () => {
    const { task } = await setUp({ topology: passThrough() });
    const queue = task.queues[0] as RecordQueue;
    const part = {
      topic: 'a',
      partition: 0,
      records: Buffer.alloc(0),
      abortedTransactions: [],
      highWatermark: 9n,
      lastStableOffset: 9n,
      logStartOffset: 0n,
      nextOffset: 9n,
      error: null,
    };
    task.push(queue, part, 9n);
    expect(task.isCommitNeeded).toBe(true);
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(9n);
  });

  it('fails with the place of a record that cannot be read, and does not pass it', async () => {
    const { task, feed } = await setUp({ topology: passThrough(picky) });
    feed('a', { key: 'k', value: 'fine' }, { key: 'k', value: 'bad' });
    expect(() => task.process(10, 0)).toThrow(DeserializationError);
    expect(() => task.process(10, 0)).toThrow(
      /a-0 at offset 1 with string\/picky: cannot read this/,
    );
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(1n);
  });

  it("keeps the handler's word: continue drops the record, and its offset counts", async () => {
    const seen: ErrorHandlerContext[] = [];
    const { task, feed, output } = await setUp({
      topology: passThrough(picky),
      deserialization: (context) => {
        seen.push(context);
        return 'continue';
      },
    });
    feed('a', { key: 'k', value: 'bad', timestamp: 3 }, { key: 'k', value: 'fine', timestamp: 4 });
    feed('a', { key: 'z', value: 'bad', timestamp: 5 });
    while (task.process(10, 0) > 0);
    expect(await output()).toEqual(['k=fine@4']);
    expect(task.droppedCount).toBe(2);
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(3n);
    expect(seen[0]).toMatchObject({
      taskId: '0_0',
      topic: 'a',
      partition: 0,
      offset: 0n,
      timestamp: 3,
    });
    expect(seen[0]?.sourceRawKey?.toString()).toBe('k');
    expect(seen[0]?.sourceRawValue?.toString()).toBe('bad');
    // A dropped record sets no time.
    expect(task.streamTimeMs).toBe(4);
  });

  it('asks the handler about a corrupt batch, and skips it as a whole', async () => {
    const { task, feed, output } = await setUp({
      topology: passThrough(),
      deserialization: 'continue',
    });
    const broken = encodeBatch([{ key: 'k', value: 'lost' }], { baseOffset: 0n });
    broken[broken.length - 1] = (broken[broken.length - 1] as number) ^ 1;
    const queue = task.queues[0] as RecordQueue;
    const part = {
      topic: 'a',
      partition: 0,
      records: broken,
      abortedTransactions: [],
      highWatermark: 1n,
      lastStableOffset: 1n,
      logStartOffset: 0n,
      nextOffset: 1n,
      error: null,
    };
    task.push(queue, part, 1n);
    expect(task.droppedCount).toBe(1);
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(1n);
    feed('a');
    expect(await output()).toEqual([]);
  });

  it('fails at the next turn when the first record of a response cannot be read', async () => {
    const { task } = await setUp({ topology: passThrough() });
    const broken = encodeBatch([{ key: 'k', value: 'lost' }]);
    broken[broken.length - 1] = (broken[broken.length - 1] as number) ^ 1;
    const queue = task.queues[0] as RecordQueue;
    const part = {
      topic: 'a',
      partition: 0,
      records: broken,
      abortedTransactions: [],
      highWatermark: 1n,
      lastStableOffset: 1n,
      logStartOffset: 0n,
      nextOffset: 1n,
      error: null,
    };
    task.push(queue, part, 1n);
    expect(() => task.process(10, 0)).toThrow(/a-0 at offset 0/);
  });

  it('fails on a negative timestamp by default', async () => {
    const { task, feed } = await setUp({ topology: passThrough() });
    feed('a', { key: 'k', value: 'v', timestamp: -1 });
    expect(() => task.process(10, 0)).toThrow(InvalidTimestampError);
  });

  it('drops a record for which the extractor returns a negative time; its offset counts', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('a', {
        ...strings,
        timestampExtractor: ({ value }) => (value === 'no' ? -1 : Number(value)),
      })
      .to('out', strings);
    const { task, feed, output } = await setUp({ topology: builder.build() });
    feed('a', { key: 'k', value: 'no' }, { key: 'k', value: '77' }, { key: 'k', value: 'no' });
    while (task.process(10, 0) > 0);
    expect(await output()).toEqual(['k=77@77']);
    expect(task.droppedCount).toBe(2);
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(3n);
  });

  it('waits for the time of an extractor that promises it: it may be the earliest', async () => {
    const builder = new StreamsBuilder();
    const gates: (() => void)[] = [];
    builder.stream('a', strings).to('out', strings);
    builder
      .stream('b', {
        ...strings,
        timestampExtractor: async ({ value }) => {
          await new Promise<void>((resolve) => gates.push(resolve));
          return Number(value);
        },
      })
      .merge(builder.stream('a', strings))
      .to('out', strings);
    const { task, feed, output, resumedCount } = await setUp({ topology: builder.build() });
    feed('a', { key: 'a', value: '', timestamp: 10 });
    feed('b', { key: 'b', value: '-1' }, { key: 'b', value: '5' });
    expect(task.process(10, 0)).toBe(0);
    expect(task.offsetsToCommit().size).toBe(0);
    for (let waited = 0; waited < 2; waited++) {
      gates.shift()?.();
      await settle();
    }
    expect(resumedCount()).toBe(1);
    while (task.process(10, 0) > 0);
    expect(await output()).toEqual(['b=5@5', 'a=@10', 'a=@10']);
    expect(task.droppedCount).toBe(1);
    expect(task.offsetsToCommit().get('b-0')?.offset).toBe(2n);
  });

  it.each([
    [
      'rejects',
      () => Promise.reject(new Error('no time')),
      /extractor failed.*offset 0.*no time/su,
    ],
    ['promises no time', () => Promise.resolve(Number.NaN), /NaN.*no whole number/su],
  ])(
    'fails with the place of the record when an extractor %s',
    async (_how, extractor, message) => {
      const builder = new StreamsBuilder();
      builder.stream('a', { ...strings, timestampExtractor: extractor }).to('out', strings);
      const { task, feed, resumedCount } = await setUp({ topology: builder.build() });
      feed('a', { key: 'k', value: 'v' });
      await task.finishRecordInHand();
      expect(resumedCount()).toBe(1);
      expect(() => task.process(1, 0)).toThrow(message);
    },
  );

  it('forgets the promise of an extractor when the position moves back', async () => {
    const builder = new StreamsBuilder();
    let answer: (time: number) => void = () => undefined;
    builder
      .stream('a', {
        ...strings,
        timestampExtractor: () => new Promise<number>((resolve) => (answer = resolve)),
      })
      .to('out', strings);
    const { task, feed } = await setUp({ topology: builder.build() });
    feed('a', { key: 'k', value: 'v' });
    const queue = task.queues[0] as RecordQueue;
    task.reset(queue, 0n);
    answer(5);
    await settle();
    expect(queue.hasHead).toBe(false);
    expect(queue.committableOffset).toBe(0n);
  });

  it('gives the wall clock, the headers and the place to a timestamp extractor', async () => {
    const builder = new StreamsBuilder();
    const seen: unknown[] = [];
    builder
      .stream('a', {
        ...strings,
        timestampExtractor: (record, partitionTime) => {
          const { topic, partition, offset, timestamp, headers } = record;
          seen.push([topic, partition, offset, timestamp, headers?.size, partitionTime]);
          return wallclockTimestamp(record, partitionTime);
        },
      })
      .to('out', strings);
    const { task, feed, output } = await setUp({ topology: builder.build() });
    feed('a', { key: 'k', value: 'v', timestamp: 3, headers: new RecordHeaders().add('h', 'x') });
    task.process(1, 0);
    expect(seen).toEqual([['a', 0, 0n, 3, 1, -1]]);
    expect(await output()).toEqual(['k=v@1700000000000']);
  });

  it('refuses an extractor that returns no time at all', async () => {
    const builder = new StreamsBuilder();
    builder.stream('a', { ...strings, timestampExtractor: () => Number.NaN }).to('out', strings);
    const { task, feed } = await setUp({ topology: builder.build() });
    feed('a', { key: 'k', value: 'v' });
    expect(() => task.process(1, 0)).toThrow(ProcessingError);
  });

  it('keeps null keys, null values, empty ones, and headers', async () => {
    const { task, feed, cluster, producer } = await setUp({ topology: passThrough() });
    const headers = new RecordHeaders().add('h', 'x').add('h', null);
    feed(
      'a',
      { key: null, value: 'v' },
      { key: 'k', value: null },
      { key: '', value: '', headers },
    );
    task.process(10, 0);
    await producer.flush();
    expect(
      cluster
        .log('out')
        .records()
        .map(({ key, value }) => [key?.toString(), value?.toString()]),
    ).toEqual([
      [undefined, 'v'],
      ['k', undefined],
      ['', ''],
    ]);
  });

  it('joins two partitions in the order of time', async () => {
    const builder = new StreamsBuilder();
    builder.stream(['a', 'b'], strings).to('out', strings);
    const { task, feed, output } = await setUp({ topology: builder.build() });
    feed('a', { key: 'a', value: '1', timestamp: 1 }, { key: 'a', value: '4', timestamp: 4 });
    expect(task.process(10, 0)).toBe(0);
    feed('b', { key: 'b', value: '2', timestamp: 2 }, { key: 'b', value: '3', timestamp: 3 });
    while (task.process(10, 0) > 0);
    expect(await output()).toEqual(['a=1@1', 'b=2@2', 'b=3@3', 'a=4@4']);
  });

  it('suspends only itself for a promise, keeps the order and the context', async () => {
    const gates: (() => void)[] = [];
    const builder = new StreamsBuilder();
    builder
      .stream('a', strings)
      .mapValues(
        (value) =>
          new Promise<string>((resolve) => {
            gates.push(() => {
              resolve(`${value}!`);
            });
          }),
      )
      .to('out', strings);
    const { task, feed, output, resumedCount } = await setUp({ topology: builder.build() });
    feed('a', { key: 'k', value: '1', timestamp: 1 }, { key: 'k', value: '2', timestamp: 2 });
    expect(task.process(10, 0)).toBe(1);
    expect(task.hasRecordInHand).toBe(true);
    expect(task.process(10, 0)).toBe(0);
    // What is in hand is not done: a commit now would have it processed again.
    expect(task.offsetsToCommit().get('a-0')).toBeUndefined();
    gates.shift()?.();
    await settle();
    expect(resumedCount()).toBe(1);
    expect(task.process(10, 0)).toBe(1);
    gates.shift()?.();
    await task.finishRecordInHand();
    expect(await output()).toEqual(['k=1!@1', 'k=2!@2']);
    expect(task.offsetsToCommit().get('a-0')?.offset).toBe(2n);
  });

  it('fails at its next turn when a promise is rejected, with the place of the record', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('a', strings)
      .mapValues(() => Promise.reject<string>(new Error('service is down')))
      .to('out', strings);
    const { task, feed } = await setUp({ topology: builder.build() });
    feed('a', { key: 'k', value: '1' });
    task.process(1, 0);
    await task.finishRecordInHand();
    expect(() => task.process(1, 0)).toThrow(/a-0 at offset 0: service is down/);
    expect(task.offsetsToCommit().size).toBe(0);
  });

  it("keeps the production handler's word on what cannot be serialized", async () => {
    const failing = await setUp({ topology: passThrough(picky) });
    failing.feed('a', { key: 'k', value: 'unwritable' });
    expect(() => failing.task.process(1, 0)).toThrow(ProductionError);
    const going = await setUp({ topology: passThrough(picky), production: 'continue' });
    going.feed('a', { key: 'k', value: 'unwritable' }, { key: 'k', value: 'fine', timestamp: 2 });
    going.task.process(10, 0);
    expect(await going.output()).toEqual(['k=fine@2']);
    expect(going.task.droppedCount).toBe(1);
  });

  it('goes through its states and closes what it opened', async () => {
    const { task } = await setUp({ topology: passThrough() });
    expect(task.state).toBe('RUNNING');
    task.suspend();
    expect(task.state).toBe('SUSPENDED');
    await task.close();
    await task.close();
    expect(task.state).toBe('CLOSED');
  });
});
