import { describe, expect, it } from 'vitest';
import {
  BatchBuilder,
  Fetch,
  ListOffsets,
  Metadata,
  RecordBatch,
  errorCodes,
  ZERO_UUID,
} from '@millrace/protocol';
import type { FetchRequest, FetchResponse } from '@millrace/protocol';
import { silentLogger } from '../logging/logger.ts';
import { FakeClock, settle } from '../testing-support/fake-clock.ts';
import {
  AuthenticationError,
  AuthorizationError,
  ConnectionError,
  CorruptFetchError,
  MissingTopicError,
  OffsetOutOfRangeError,
} from './errors.ts';
import { Fetcher } from './fetcher.ts';
import { unpinned, wholeBatches } from './fetched-records.ts';
import type { FetchedPartition, FetcherOptions } from './ports.ts';
import { FakeTransport } from './testing-support/fake-transport.ts';

type PartitionAnswer = Partial<FetchResponse['responses'][number]['partitions'][number]>;
type FetchScript = (
  body: FetchRequest,
  nodeId: number,
) => Record<string, PartitionAnswer> | Promise<Record<string, PartitionAnswer>>;

function batch(baseOffset: bigint, recordCount: number): Buffer {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
  for (let i = 0; i < recordCount; i++)
    builder.appendBytes(1_000, null, Buffer.from(`v${i}`), null);
  return Buffer.from(builder.build({ baseOffset }));
}

/** What compaction leaves of a batch: its header with the last offset, and no record or only the first ones. */
function emptied(baseOffset: bigint, lastOffsetDelta: number): Buffer {
  const bytes = batch(baseOffset, 1).subarray(0, 61);
  const copy = Buffer.from(bytes);
  copy.writeInt32BE(61 - 12, 8);
  copy.writeInt32BE(lastOffsetDelta, 23);
  copy.writeInt32BE(0, 57);
  return copy;
}

function setUp(options: Partial<FetcherOptions> = {}) {
  const clock = new FakeClock();
  const transport = new FakeTransport();
  const leaders: Record<string, number> = { 'in-0': 1, 'in-1': 1, 'in-2': 2, 'in-3': 2 };
  const deleted = new Set<string>();
  const topicIds = new Map<string, string>();
  const warnings: unknown[][] = [];
  const logger = silentLogger();
  logger.warn = (...line: unknown[]) => warnings.push(line);
  let readyCount = 0;
  let script: FetchScript = () => ({});
  transport.on(Metadata, ({ body }) => ({
    brokers: [
      { nodeId: 1, host: 'fake', port: 1 },
      { nodeId: 2, host: 'fake', port: 2 },
    ],
    topics: (body.topics ?? []).map(({ name }) => {
      const partitions = Object.entries(leaders)
        .filter(([key]) => key.startsWith(`${name ?? ''}-`) && !deleted.has(name ?? ''))
        .map(([key, leaderId]) => ({ partitionIndex: Number(key.split('-')[1]), leaderId }));
      const errorCode = partitions.length > 0 ? 0 : errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
      return { name, errorCode, topicId: topicIds.get(name ?? '') ?? ZERO_UUID, partitions };
    }),
  }));
  transport.on(Fetch, async ({ body, nodeId }) => {
    const answers = await script(body, nodeId);
    const topics = new Map<string, PartitionAnswer[]>();
    for (const [key, answer] of Object.entries(answers)) {
      const [topic = '', partition] = key.split('-');
      const ofTopic = topics.get(topic) ?? [];
      ofTopic.push({ highWatermark: 100n, ...answer, partitionIndex: Number(partition) });
      topics.set(topic, ofTopic);
    }
    // A broker without data holds the request back.
    if (topics.size === 0) {
      await new Promise<void>((resolve) => clock.setTimer(body.maxWaitMs, resolve));
    }
    return { responses: [...topics].map(([topic, partitions]) => ({ topic, partitions })) };
  });
  const fetcher = new Fetcher(
    { transport, clock, random: () => 0.5, logger, requestTimeoutMs: 1_000 },
    {
      isolationLevel: 'read_committed',
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: 1 << 20,
      maxPartitionBytes: 1 << 16,
      onReady: () => readyCount++,
      ...options,
    },
  );
  return {
    clock,
    transport,
    fetcher,
    leaders,
    deleted,
    topicIds,
    warnings,
    ready: () => readyCount,
    serve: (next: FetchScript) => {
      script = next;
    },
  };
}

function once(answers: Record<string, PartitionAnswer>): FetchScript {
  const open = new Map(Object.entries(answers));
  return (body) => {
    const found: Record<string, PartitionAnswer> = {};
    for (const { topic, partitions } of body.topics) {
      for (const { partition } of partitions) {
        const key = `${topic}-${partition}`;
        const answer = open.get(key);
        if (answer === undefined) continue;
        open.delete(key);
        found[key] = answer;
      }
    }
    return found;
  };
}

function fetches(transport: FakeTransport) {
  return transport.sent
    .filter(({ apiName }) => apiName === Fetch.name)
    .map(({ body, ...rest }) => ({ ...rest, body: body as FetchRequest }));
}

function asked({ body }: { body: FetchRequest }): string[] {
  return body.topics.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, fetchOffset }) => `${topic}-${partition}@${fetchOffset}`),
  );
}

const in0 = { topic: 'in', partition: 0, offset: 0n };
const in1 = { topic: 'in', partition: 1, offset: 0n };

describe('Fetcher', () => {
  describe('158: that is assigned, behind and yet reads nothing', () => {
    const stalled = 'nothing has been fetched from the partition for long; fetching it anew';

    /** Whatever is asked of it, partition 0 is never among what is sent. */
    const starving: FetchScript = () => ({
      'in-0': { records: null, highWatermark: 10n, lastStableOffset: 10n },
      'in-1': { records: batch(0n, 1), highWatermark: 1n, lastStableOffset: 1n },
    });

    it('is reported and fetched anew', async () => {
      const { clock, fetcher, serve, warnings } = setUp();
      let requests = 0;
      serve((body, node) => {
        requests++;
        return starving(body, node);
      });
      fetcher.assign([in0, in1]);
      for (let s = 0; s < 59; s++) {
        await clock.advance(1_000);
        fetcher.drain();
      }
      expect(requests).toBeGreaterThan(50);
      expect(warnings).toEqual([]);
      for (let s = 0; s < 12; s++) {
        await clock.advance(1_000);
        fetcher.drain();
      }
      expect(warnings).toEqual([
        [
          { topic: 'in', partition: 0, position: '0', end: '10', forMs: expect.any(Number) },
          stalled,
        ],
      ]);
      serve(once({ 'in-0': { records: batch(0n, 10), lastStableOffset: 10n } }));
      await clock.advance(1_000);
      expect(fetcher.drain()).toMatchObject([{ topic: 'in', partition: 0, nextOffset: 10n }]);
      await fetcher.close(100);
    });

    it.each([
      ['has all there is', { records: null, highWatermark: 0n, lastStableOffset: 0n }],
      ['is refused again and again', { errorCode: errorCodes.NOT_LEADER_OR_FOLLOWER }],
    ])('is not one that %s', async (_, answer) => {
      const { clock, fetcher, serve, warnings } = setUp();
      serve(async () => {
        await new Promise<void>((resolve) => clock.setTimer(100, resolve));
        return { 'in-0': answer };
      });
      fetcher.assign([in0]);
      for (let s = 0; s < 200; s++) {
        await clock.advance(1_000);
        fetcher.drain();
      }
      expect(warnings.filter(([, text]) => text === stalled)).toEqual([]);
      await fetcher.close(100);
    });

    it('is not one that is paused, or waits to be drained', async () => {
      const { clock, fetcher, serve, warnings } = setUp();
      serve(once({ 'in-1': { records: batch(0n, 1) } }));
      fetcher.assign([in0, in1]);
      fetcher.pause('in', 0);
      await clock.advance(300_000);
      expect(warnings).toEqual([]);
      await fetcher.close(100);
      expect(clock.timerCount).toBeLessThanOrEqual(1); // the fake broker's own
    });
  });

  it('hands over raw batches and fetches on from the last one, one request per broker at a time', async () => {
    const { clock, transport, fetcher, serve, ready } = setUp();
    serve(once({ 'in-0': { records: Buffer.concat([batch(0n, 3), batch(3n, 2)]) } }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    expect(ready()).toBe(1);
    expect(fetches(transport)).toHaveLength(1);
    expect(fetcher.position('in', 0)).toBe(0n);
    const [fetched, ...others] = fetcher.drain();
    expect(others).toEqual([]);
    expect(fetched).toMatchObject({ topic: 'in', partition: 0, nextOffset: 5n, error: null });
    expect(new RecordBatch((fetched as FetchedPartition).records).recordCount).toBe(3);
    expect(fetcher.position('in', 0)).toBe(5n);
    expect(fetcher.drain()).toEqual([]);
    await clock.advance(10);
    expect(asked(fetches(transport)[1]!)).toEqual(['in-1@0', 'in-0@5']);
    expect(fetches(transport)[1]!.body.isolationLevel).toBe(1);
    await fetcher.close(100);
    expect(clock.timerCount).toBeLessThanOrEqual(1); // the fake broker's own
  });

  it('gives the memory of a response back once all of its partitions have released it', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    serve(once({ 'in-0': { records: batch(0n, 200) }, 'in-1': { records: batch(0n, 200) } }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    const [first, second] = fetcher.drain() as [FetchedPartition, FetchedPartition];
    expect(first.records.buffer).toBe(second.records.buffer);
    first.memory?.release();
    expect(transport.recycled).toEqual([]);
    second.memory?.release();
    expect(transport.recycled).toEqual([first.records.buffer]);
    await fetcher.close(100);
  });

  it('gives back the memory of no response whose records were copied out of it', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    // The first is so small a part of the response that it does not keep all of it alive.
    const large = batch(0n, 200_000);
    serve(once({ 'in-0': { records: batch(0n, 1) }, 'in-1': { records: large } }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    const [small, other] = fetcher.drain() as [FetchedPartition, FetchedPartition];
    expect(small.records.buffer).not.toBe(other.records.buffer);
    small.memory?.release();
    expect(transport.recycled).toEqual([]);
    other.memory?.release();
    expect(transport.recycled).toEqual([other.records.buffer]);
    await fetcher.close(100);
  });

  it('fetches nothing more from a broker until what came was drained', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    serve(() => ({ 'in-0': { records: batch(0n, 1) } }));
    fetcher.assign([in0, in1]);
    await clock.advance(5_000);
    expect(fetches(transport)).toHaveLength(1);
    fetcher.drain();
    await clock.advance(10);
    expect(fetches(transport)).toHaveLength(2);
  });

  it('moves over empty batches and over a gap at the tail of one', async () => {
    const { clock, fetcher, serve } = setUp();
    serve(once({ 'in-0': { records: Buffer.concat([batch(0n, 1), emptied(900n, 99)]) } }));
    fetcher.assign([in0]);
    await clock.advance(10);
    const [fetched] = fetcher.drain();
    expect(fetched?.nextOffset).toBe(1_000n);
    expect(fetcher.position('in', 0)).toBe(1_000n);
  });

  it('moves to the end when there is nothing left between the position and the end', async () => {
    const { clock, fetcher, serve, transport } = setUp();
    const empty = { records: Buffer.alloc(0), highWatermark: 90n, lastStableOffset: 80n };
    serve(once({ 'in-0': empty, 'in-1': { ...empty, lastStableOffset: 0n } }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    const [moved, empty1, ...others] = fetcher.drain();
    expect(others).toEqual([]);
    expect(moved).toMatchObject({ topic: 'in', partition: 0, nextOffset: 80n, error: null });
    expect(moved?.records).toHaveLength(0);
    expect(empty1).toMatchObject({ partition: 1, nextOffset: 0n, lastStableOffset: 0n });
    await clock.advance(10);
    expect(asked(fetches(transport).at(-1) as never).sort()).toEqual(['in-0@80', 'in-1@0']);
  });

  it('does not take a partition for empty that came after a full one', async () => {
    const { clock, fetcher, serve } = setUp();
    const empty = { records: Buffer.alloc(0), highWatermark: 90n, lastStableOffset: 90n };
    serve(once({ 'in-0': { records: batch(0n, 2) }, 'in-1': empty }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    const [full, behind] = fetcher.drain();
    expect(full).toMatchObject({ partition: 0, nextOffset: 2n });
    // That it has more is told, once: nobody may take it for caught up.
    expect(behind).toMatchObject({ partition: 1, nextOffset: 0n, lastStableOffset: 90n });
    expect(behind?.records).toHaveLength(0);
    expect(fetcher.position('in', 1)).toBe(0n);
    serve(once({ 'in-0': { records: batch(2n, 2) }, 'in-1': empty }));
    await clock.advance(1_000);
    expect(fetcher.drain().map(({ partition }) => partition)).toEqual([0]);
  });

  it('tells that a partition was left out which was at its end before', async () => {
    const { clock, fetcher, serve } = setUp();
    const at = (end: bigint) => ({ highWatermark: end, lastStableOffset: end });
    serve(once({ 'in-0': { records: batch(0n, 1), ...at(1n) }, 'in-1': at(0n) }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    expect(fetcher.drain().map(({ partition }) => partition)).toEqual([0, 1]);
    serve(once({ 'in-0': { records: batch(1n, 1), ...at(2n) }, 'in-1': at(0n) }));
    await clock.advance(1_000);
    expect(fetcher.drain().map(({ partition }) => partition)).toEqual([0]);
    serve(once({ 'in-0': { records: batch(2n, 1), ...at(3n) }, 'in-1': at(7n) }));
    await clock.advance(1_000);
    expect(fetcher.drain()[1]).toMatchObject({
      partition: 1,
      nextOffset: 0n,
      lastStableOffset: 7n,
    });
  });

  it('tells the end of a partition that has nothing to fetch, once', async () => {
    const { clock, fetcher, serve } = setUp();
    const atEnd = { records: Buffer.alloc(0), highWatermark: 5n, lastStableOffset: 5n };
    serve(once({ 'in-0': atEnd }));
    fetcher.assign([{ ...in0, offset: 5n }]);
    await clock.advance(10);
    expect(fetcher.drain()).toMatchObject([{ partition: 0, nextOffset: 5n, lastStableOffset: 5n }]);
    serve(once({ 'in-0': atEnd }));
    await clock.advance(1_000);
    expect(fetcher.drain()).toEqual([]);
    // Assigned anew, it may be elsewhere.
    fetcher.assign([{ ...in0, offset: 5n }]);
    serve(once({ 'in-0': atEnd }));
    await clock.advance(1_000);
    expect(fetcher.drain()).toMatchObject([{ partition: 0, nextOffset: 5n }]);
  });

  it('keeps offsets above 2^53 exact', async () => {
    const { clock, fetcher, serve } = setUp();
    serve(once({ 'in-0': { records: batch(9_007_199_254_740_993n, 1) } }));
    fetcher.assign([{ ...in0, offset: 9_007_199_254_740_993n }]);
    await clock.advance(10);
    expect(fetcher.drain()[0]?.nextOffset).toBe(9_007_199_254_740_994n);
  });

  it('cuts off a partial last batch and fetches it again', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    const cut = batch(3n, 5).subarray(0, 70);
    serve(once({ 'in-0': { records: Buffer.concat([batch(0n, 3), cut]) } }));
    fetcher.assign([in0]);
    await clock.advance(10);
    const [fetched] = fetcher.drain();
    expect(fetched?.nextOffset).toBe(3n);
    expect(fetched?.records).toHaveLength(batch(0n, 3).length);
    await clock.advance(10);
    expect(asked(fetches(transport)[1]!)).toEqual(['in-0@3']);
  });

  it('asks for all of a batch that was cut at its partition limit', async () => {
    const { clock, transport, fetcher, serve } = setUp({ maxPartitionBytes: 100 });
    const large = batch(0n, 50);
    serve((body) => {
      const limit = body.topics[0]?.partitions[0]?.partitionMaxBytes ?? 0;
      return { 'in-0': { records: large.subarray(0, Math.min(limit, large.length)) } };
    });
    fetcher.assign([in0]);
    await clock.advance(10);
    expect(fetcher.drain()[0]?.nextOffset).toBe(50n);
    expect(fetches(transport)).toHaveLength(2);
  });

  it('asks for no more of a partition than it is told to, but for all of a batch that is larger', async () => {
    const { clock, transport, fetcher, serve } = setUp({ maxPartitionBytes: 1_000 });
    const limits = () =>
      fetches(transport).map(({ body }) => body.topics[0]?.partitions[0]?.partitionMaxBytes);
    const large = batch(0n, 50);
    serve((body) => {
      const limit = body.topics[0]?.partitions[0]?.partitionMaxBytes ?? 0;
      return { 'in-0': { records: large.subarray(0, Math.min(limit, large.length)) } };
    });
    fetcher.limitPartitions(100);
    fetcher.assign([in0]);
    await clock.advance(10);
    expect(limits()).toEqual([100, large.length]);
    fetcher.limitPartitions(2_000);
    expect(fetcher.drain()[0]?.nextOffset).toBe(50n);
    await clock.advance(10);
    expect(limits()).toEqual([100, large.length, 1_000]);
  });

  it('155: leaves out paused partitions and waits at most 10 ms meanwhile; what is under way is handed over (kafkajs#1376)', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    fetcher.assign([in0, in1]);
    await clock.advance(1);
    expect(fetches(transport)[0]!.body.maxWaitMs).toBe(500);
    fetcher.pause('in', 0);
    await clock.advance(500);
    const second = fetches(transport)[1]!;
    expect(asked(second)).toEqual(['in-1@0']);
    expect(second.body.maxWaitMs).toBe(10);
    serve(once({ 'in-0': { records: batch(0n, 1) } }));
    fetcher.resume('in', 0);
    await clock.advance(20);
    expect(fetcher.drain()).toHaveLength(1);
  });

  it('lets a newly assigned partition wait for no parked fetch', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    fetcher.assign([in0]);
    await clock.advance(100);
    expect(fetches(transport)).toHaveLength(1);
    serve(once({ 'in-1': { records: batch(7n, 1) } }));
    fetcher.assign([{ ...in1, offset: 7n }]);
    await clock.advance(1);
    expect(fetcher.drain()[0]).toMatchObject({ partition: 1, nextOffset: 8n });
    const side = fetches(transport)[1]!;
    expect(side.lane).toBe('main');
    expect(fetches(transport)[0]!.lane).toBe('parked');
    expect(asked(side)).toEqual(['in-1@7']);
    // Once the parked one is back, both go together.
    await clock.advance(600);
    expect(asked(fetches(transport).at(-1)!).toSorted()).toEqual(['in-0@0', 'in-1@8']);
  });

  it('161: drops what arrives for a partition that was moved or given away (zio-kafka#280, #1294)', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    let answer = (_: Record<string, PartitionAnswer>): void => undefined;
    serve(() => new Promise((resolve) => (answer = resolve)));
    fetcher.assign([in0, in1]);
    await clock.advance(1);
    const both = { 'in-0': { records: batch(0n, 1) }, 'in-1': { records: batch(0n, 1) } };
    const answerFirst = answer;
    serve(once({ 'in-0': { records: batch(50n, 1) } }));
    fetcher.assign([{ ...in0, offset: 50n }]);
    fetcher.unassign([in1]);
    answerFirst(both);
    await clock.advance(20);
    expect(fetcher.drain().map(({ nextOffset }) => nextOffset)).toEqual([51n]);
    expect(() => fetcher.position('in', 1)).toThrow(/in-1 is not assigned/);
    expect(asked(fetches(transport).at(-1)!)).toEqual(['in-0@50']);
  });

  it('follows a leader move, with a wait in between, and never shows it', async () => {
    const { clock, transport, fetcher, leaders, serve } = setUp();
    serve((_body, nodeId): Record<string, PartitionAnswer> =>
      nodeId === 1
        ? { 'in-0': { errorCode: errorCodes.NOT_LEADER_OR_FOLLOWER } }
        : { 'in-0': { records: batch(0n, 1) } },
    );
    fetcher.assign([in0]);
    await clock.advance(50);
    expect(fetches(transport)).toHaveLength(1);
    leaders['in-0'] = 2;
    await clock.advance(2_000);
    expect(fetcher.drain()).toMatchObject([{ partition: 0, error: null, nextOffset: 1n }]);
    expect(fetches(transport).length).toBeLessThan(5);
  });

  it('154: keeps one partition error from the others (kafkajs#946)', async () => {
    const { clock, fetcher, serve } = setUp();
    serve(
      once({
        'in-0': { errorCode: errorCodes.OFFSET_OUT_OF_RANGE },
        'in-1': { records: batch(0n, 2) },
      }),
    );
    fetcher.assign([{ ...in0, offset: 77n }, in1]);
    await clock.advance(10);
    const [first, second] = fetcher.drain();
    expect(first?.error).toBeInstanceOf(OffsetOutOfRangeError);
    expect(first?.error?.message).toContain('Offset 77 of in-0');
    expect(second).toMatchObject({ partition: 1, nextOffset: 2n, error: null });
    // Only after a new assignment it is fetched again.
    serve(once({ 'in-0': { records: batch(5n, 1) } }));
    await clock.advance(2_000);
    expect(fetcher.drain()).toEqual([]);
    fetcher.assign([{ ...in0, offset: 5n }]);
    await clock.advance(20);
    expect(fetcher.drain()).toMatchObject([{ partition: 0, nextOffset: 6n }]);
  });

  it('hands over bytes that are no batches as an error of that partition', async () => {
    const { clock, fetcher, serve } = setUp();
    const broken = batch(0n, 1);
    broken.writeInt32BE(3, 8);
    const old = batch(0n, 1);
    old.writeInt8(1, 16);
    serve(once({ 'in-0': { records: broken }, 'in-1': { records: old } }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    const errors = fetcher.drain().map(({ error }) => error);
    expect(errors[0]).toBeInstanceOf(CorruptFetchError);
    expect(errors[0]?.message).toContain('in-0 at offset 0');
    expect(errors[1]).toBeInstanceOf(CorruptFetchError);
  });

  it('gives a forbidden topic as a fatal error and a deleted one after a while', async () => {
    const { clock, fetcher, deleted, serve } = setUp();
    serve(once({ 'in-0': { errorCode: errorCodes.TOPIC_AUTHORIZATION_FAILED } }));
    fetcher.assign([in0, in1]);
    await clock.advance(10);
    expect(fetcher.drain()[0]?.error).toBeInstanceOf(AuthorizationError);
    deleted.add('in');
    serve(() => ({ 'in-1': { errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION } }));
    await clock.advance(10_000);
    expect(fetcher.drain()).toEqual([]);
    await clock.advance(40_000);
    const [fetched] = fetcher.drain();
    expect(fetched?.error).toBeInstanceOf(MissingTopicError);
    expect(fetched?.error?.message).toContain('in-1');
  });

  describe('of an internal topic', () => {
    const internalTopics = new Set(['in']);
    const [first, second] = ['B'.padEnd(22, 'A'), 'C'.padEnd(22, 'A')];

    it.each([true, false])(
      'looks whether it was made anew before a position is out of range: %s',
      async (isAnew) => {
        const { clock, fetcher, topicIds, serve } = setUp({ internalTopics });
        topicIds.set('in', first);
        serve(once({ 'in-0': { records: batch(0n, 3) } }));
        fetcher.assign([in0]);
        await clock.advance(10);
        expect(fetcher.drain()).toHaveLength(1);
        if (isAnew) topicIds.set('in', second);
        serve(() => ({ 'in-0': { errorCode: errorCodes.OFFSET_OUT_OF_RANGE } }));
        await clock.advance(2_000);
        const [fetched] = fetcher.drain();
        expect(fetched?.error).toBeInstanceOf(isAnew ? MissingTopicError : OffsetOutOfRangeError);
      },
    );

    it('names it when it is gone, and says what to do', async () => {
      const { clock, fetcher, deleted, serve } = setUp({ internalTopics });
      fetcher.assign([in0]);
      await clock.advance(10);
      deleted.add('in');
      serve(() => ({ 'in-0': { errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION } }));
      await clock.advance(40_000);
      const [fetched] = fetcher.drain();
      expect(fetched?.error?.message).toMatch(
        /^Internal topic in has not been known .*Reset the application/u,
      );
    });
  });

  it('172: backs off while brokers are away and goes on when they are back (kafkajs#1402, #1323)', async () => {
    const { clock, transport, fetcher, serve } = setUp();
    let isAway = true;
    const sound = once({ 'in-0': { records: batch(0n, 1) } });
    serve((body, nodeId) => {
      if (isAway) throw new ConnectionError('refused');
      return sound(body, nodeId);
    });
    fetcher.assign([in0]);
    await clock.advance(60_000);
    expect(fetches(transport).length).toBeLessThan(75);
    isAway = false;
    await clock.advance(2_000);
    expect(fetcher.drain()).toHaveLength(1);
  });

  it('hands a refused login to every partition', async () => {
    const { clock, fetcher, transport } = setUp();
    transport.on(Metadata, () => {
      throw new AuthenticationError('wrong password');
    });
    fetcher.assign([in0, in1]);
    await clock.advance(100);
    const errors = fetcher.drain().map(({ error }) => error);
    expect(errors).toHaveLength(2);
    expect(errors[0]).toBeInstanceOf(AuthenticationError);
  });

  it('sorts aborted transactions by their first offset', async () => {
    const { clock, fetcher, serve } = setUp();
    const abortedTransactions = [
      { producerId: 2n, firstOffset: 5n },
      { producerId: 1n, firstOffset: 0n },
    ];
    serve(once({ 'in-0': { records: batch(0n, 9), abortedTransactions } }));
    fetcher.assign([in0]);
    await clock.advance(10);
    const found = fetcher.drain()[0]?.abortedTransactions.map(({ firstOffset }) => firstOffset);
    expect(found).toEqual([0n, 5n]);
  });

  it('asks leaders for offsets, following moves, and says which topic is missing', async () => {
    const { clock, fetcher, leaders, transport } = setUp();
    transport.on(ListOffsets, ({ body, nodeId }) => ({
      topics: body.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex, timestamp }) => ({
          partitionIndex,
          ...(leaders[`${name}-${partitionIndex}`] === nodeId
            ? { errorCode: 0, offset: timestamp === -2n ? 3n : timestamp === -1n ? 9n : -1n }
            : { errorCode: errorCodes.NOT_LEADER_OR_FOLLOWER }),
        })),
      })),
    }));
    const all = [0, 1, 2, 3].map((partition) => ({ topic: 'in', partition }));
    const beginning = fetcher.beginningOffsets(all);
    await clock.advance(500);
    expect([...(await beginning).values()]).toEqual([3n, 3n, 3n, 3n]);
    leaders['in-0'] = 2;
    const end = fetcher.endOffsets(all, 'read_committed');
    await clock.advance(1_000);
    expect((await end).get('in-0')).toBe(9n);
    const timed = fetcher.offsetsForTimestamps([{ topic: 'in', partition: 0, timestampMs: 5 }]);
    await clock.advance(100);
    expect((await timed).size).toBe(0);
    const missing = expect(fetcher.endOffsets([{ topic: 'nope', partition: 0 }], 'read_committed'));
    const rejected = missing.rejects.toThrow(/no partition nope-0/);
    await clock.advance(20_000);
    await rejected;
    expect((await fetcher.endOffsets([], 'read_committed')).size).toBe(0);
  });

  it('goes on asking for offsets of a topic of which another partition is given up', async () => {
    const { clock, fetcher, transport } = setUp();
    let isLeading = false;
    transport.on(ListOffsets, ({ body }) => ({
      topics: body.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(({ partitionIndex }) => ({
          partitionIndex,
          errorCode: isLeading ? 0 : errorCodes.NOT_LEADER_OR_FOLLOWER,
          offset: 9n,
        })),
      })),
    }));
    const end = fetcher.endOffsets([in0], 'read_committed');
    await clock.advance(150);
    fetcher.assign([{ topic: 'in', partition: 1, offset: 0n }]);
    fetcher.unassign([{ topic: 'in', partition: 1 }]);
    isLeading = true;
    await clock.advance(1_500);
    expect((await end).get('in-0')).toBe(9n);
  });

  it('ends at once when it is closed, whatever it waits for', async () => {
    const { clock, fetcher, serve } = setUp();
    serve(() => new Promise(() => undefined));
    fetcher.assign([in0]);
    await clock.advance(10);
    const offsets = expect(fetcher.endOffsets([{ topic: 'gone', partition: 1 }], 'read_committed'));
    const rejected = offsets.rejects.toThrow(/closed/);
    await settle();
    await fetcher.close(100);
    await clock.advance(0);
    await rejected;
    expect(clock.timerCount).toBe(0);
    expect(fetcher.drain()).toEqual([]);
  });
});

describe('wholeBatches', () => {
  it('finds nothing in nothing, and a cut header', () => {
    expect(wholeBatches(Buffer.alloc(0), 5n)).toMatchObject({ nextOffset: 5n, cutBatchBytes: 0 });
    const cut = wholeBatches(batch(0n, 1).subarray(0, 11), 5n);
    expect(cut).toMatchObject({ nextOffset: 5n, cutBatchBytes: 11 });
  });
});

describe('unpinned', () => {
  it('copies only what would keep a much larger response alive', () => {
    const response = Buffer.alloc(4 << 20);
    const small = response.subarray(0, 1_000);
    expect(unpinned(small).buffer).not.toBe(response.buffer);
    const large = response.subarray(0, 1 << 20);
    expect(unpinned(large)).toBe(large);
    const little = Buffer.alloc(100_000).subarray(0, 10);
    expect(unpinned(little)).toBe(little);
  });
});
