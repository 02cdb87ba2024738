import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogDir } from '../log-dir/log-dir.ts';
import { LogStoreError } from '../errors.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf, markerBatch, T0 } from '../testing/batches.ts';
import { configOf, nextOffsetOf, openMemoryDir, readAll } from '../testing/memory-log-dir.ts';
import type { Log } from './log.ts';

/** The plainest log: every record in an array. */
interface Model {
  start: bigint;
  end: bigint;
  readonly records: Map<bigint, { value: string; timestamp: number }>;
  /** Open transactions: producer id to first offset. */
  readonly open: Map<number, bigint>;
  readonly aborted: { producerId: bigint; firstOffset: bigint; lastOffset: bigint }[];
  readonly sequences: Map<number, number>;
}

type Command =
  | {
      readonly kind: 'append';
      readonly count: number;
      readonly size: number;
      readonly ageMs: number;
    }
  | { readonly kind: 'idempotent'; readonly producer: number; readonly count: number }
  | { readonly kind: 'repeat'; readonly producer: number }
  | { readonly kind: 'transactional'; readonly producer: number; readonly count: number }
  | { readonly kind: 'marker'; readonly producer: number; readonly commit: boolean }
  | { readonly kind: 'deleteRecords'; readonly share: number }
  | { readonly kind: 'retention' }
  | { readonly kind: 'roll' }
  | { readonly kind: 'flush' }
  | { readonly kind: 'tick'; readonly ms: number }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'kill' };

const producer = fc.integer({ min: 1, max: 3 });
const count = fc.integer({ min: 1, max: 5 });
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      count,
      size: fc.integer({ min: 0, max: 150 }),
      ageMs: fc.integer({ min: -1000, max: 5000 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('idempotent' as const), producer, count }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('repeat' as const), producer }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('transactional' as const), producer, count }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('marker' as const), producer, commit: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('deleteRecords' as const),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'retention' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'roll' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'flush' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('tick' as const),
      ms: fc.integer({ min: 0, max: 20_000 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'kill' as const }) },
);

const config = configOf({
  'internal.segment.bytes': '900',
  'index.interval.bytes': '150',
  'retention.bytes': '3000',
  'segment.ms': '15000',
  'message.timestamp.after.max.ms': '9223372036854775807',
});

/** Plain writers, idempotent and transactional ones have ids of their own. */
const idempotentId = (one: number): bigint => BigInt(one);
const transactionalId = (one: number): bigint => BigInt(100 + one);

class Run {
  disk = new MemoryDisk();
  readonly clock = new FakeClock(T0);
  dir: LogDir | null = null;
  readonly model: Model = {
    start: 0n,
    end: 0n,
    records: new Map(),
    open: new Map(),
    aborted: [],
    sequences: new Map(),
  };
  #value = 0;

  get log(): Log {
    const log = this.dir?.log('t', 0);
    if (!log) throw new Error('no log');
    return log;
  }

  async open(): Promise<void> {
    this.dir = await openMemoryDir({ disk: this.disk, clock: this.clock, config });
    if (!this.dir.log('t', 0)) this.dir.createLog('t', 0, null, config);
  }

  #append(
    size: number,
    howMany: number,
    timestamp: number,
    options: Parameters<typeof batchOf>[1] = {},
  ): void {
    const records = Array.from({ length: howMany }, () => ({
      value: `${String(this.#value++)}-${'x'.repeat(size)}`,
      timestamp,
    }));
    const { firstOffset, isDuplicate } = this.log.appendAsLeader(batchOf(records, options));
    expect(isDuplicate).toBe(false);
    expect(firstOffset).toBe(this.model.end);
    for (const record of records) this.model.records.set(this.model.end++, record);
  }

  async do(one: Command): Promise<void> {
    const { model, clock } = this;
    switch (one.kind) {
      case 'append':
        this.#append(one.size, one.count, clock.now() - one.ageMs);
        return;
      case 'idempotent': {
        const sequence = model.sequences.get(one.producer) ?? 0;
        this.#append(5, one.count, clock.now(), {
          producerId: idempotentId(one.producer),
          producerEpoch: 0,
          baseSequence: sequence,
        });
        model.sequences.set(one.producer, sequence + one.count);
        return;
      }
      case 'repeat': {
        const entry = this.log.producers().find((p) => p.producerId === idempotentId(one.producer));
        const last = entry?.lastBatch;
        if (!entry || !last) return;
        const records = Array.from({ length: last.lastSequence - last.firstSequence + 1 }, () => ({
          value: 'again',
        }));
        const result = this.log.appendAsLeader(
          batchOf(records, {
            producerId: entry.producerId,
            producerEpoch: entry.producerEpoch,
            baseSequence: last.firstSequence,
          }),
        );
        expect(result).toMatchObject({ isDuplicate: true, firstOffset: last.firstOffset });
        return;
      }
      case 'transactional': {
        const first = model.end;
        this.#append(5, one.count, clock.now(), {
          producerId: transactionalId(one.producer),
          producerEpoch: 0,
          baseSequence: this.log
            .producers()
            .find((p) => p.producerId === transactionalId(one.producer))?.lastBatch
            ? (this.log.producers().find((p) => p.producerId === transactionalId(one.producer))
                ?.lastSequence ?? -1) + 1
            : 0,
          isTransactional: true,
        });
        if (!model.open.has(one.producer)) model.open.set(one.producer, first);
        return;
      }
      case 'marker': {
        const first = model.open.get(one.producer);
        if (first === undefined) return;
        const offset = model.end++;
        this.log.appendAsLeader(
          markerBatch(
            one.commit ? 'commit' : 'abort',
            transactionalId(one.producer),
            0,
            0,
            clock.now(),
          ),
          { origin: 'coordinator' },
        );
        model.open.delete(one.producer);
        if (!one.commit) {
          model.aborted.push({
            producerId: transactionalId(one.producer),
            firstOffset: first,
            lastOffset: offset,
          });
        }
        return;
      }
      case 'deleteRecords': {
        const span = Number(model.end - model.start);
        const target = model.start + BigInt(Math.floor(span * one.share));
        await this.log.deleteRecords(target);
        if (target > model.start) model.start = target;
        return;
      }
      case 'retention': {
        const before = this.log.sizeInBytes;
        await this.dir?.runRetention();
        const { log } = this;
        // Whole segments, oldest first, never below retention.bytes.
        expect(log.logStartOffset >= model.start).toBe(true);
        if (log.logStartOffset > model.start) {
          expect(before).toBeGreaterThan(log.sizeInBytes);
          expect(log.segments[0]?.baseOffset).toBe(log.logStartOffset);
        }
        expect(
          log.sizeInBytes < config.retentionBytes + config.segmentBytes ||
            log.segments.length === 1,
        ).toBe(true);
        model.start = log.logStartOffset;
        return;
      }
      case 'roll':
        this.log.roll();
        return;
      case 'flush':
        await this.log.flush();
        expect(this.log.recoveryPoint).toBe(model.end);
        return;
      case 'tick':
        clock.advance(one.ms);
        this.disk.nowMs = clock.now();
        return;
      case 'reopen':
        await this.dir?.close();
        await this.open();
        return;
      case 'kill':
        this.disk = this.disk.afterKill();
        await this.open();
        return;
    }
  }

  check(): void {
    const { log, model } = this;
    expect(log.logStartOffset).toBe(model.start);
    expect(log.logEndOffset).toBe(model.end);
    const first = [...model.open.values()].reduce((a, b) => (a < b ? a : b), model.end);
    expect(log.lastStableOffset).toBe(first < model.start ? model.start : first);
    const seen = readAll(log, 500).filter((record) => !record.isControl);
    const expected = [...model.records]
      .filter(([offset]) => offset >= model.start)
      .map(([offset, record]) => ({ offset, value: record.value, timestamp: record.timestamp }));
    expect(seen.map(({ offset, value, timestamp }) => ({ offset, value, timestamp }))).toEqual(
      expected,
    );
    this.#checkCommittedReads();
    this.#checkTimes(expected);
  }

  /** A read-committed consumer is told of every aborted transaction that overlaps what it got. */
  #checkCommittedReads(): void {
    const { log, model } = this;
    for (let at = log.logStartOffset; at < log.lastStableOffset;) {
      const { records, abortedTransactions } = log.read(at, 400, { isolation: 'readCommitted' });
      const next = nextOffsetOf(records);
      expect(next > at).toBe(true);
      expect(next <= log.lastStableOffset).toBe(true);
      const due = model.aborted.filter((one) => one.lastOffset >= at && one.firstOffset < next);
      const told = (abortedTransactions ?? []).map(({ producerId, firstOffset, lastOffset }) => ({
        producerId,
        firstOffset,
        lastOffset,
      }));
      expect(told).toEqual(due);
      at = next;
    }
  }

  #checkTimes(expected: readonly { offset: bigint; timestamp: number }[]): void {
    const { log } = this;
    for (const target of [T0 - 6000, T0, T0 + 3000, this.clock.now()]) {
      const found = log.offsetForTimestamp(target);
      const wanted = expected.find((record) => record.timestamp >= target);
      // Markers have timestamps too and may come first.
      if (found === null) expect(wanted).toBeUndefined();
      else if (wanted) expect(found.offset <= wanted.offset).toBe(true);
      if (found) expect(found.timestamp >= target).toBe(true);
    }
  }
}

describe('random histories', () => {
  it('leave what a plain model says, through rolls, deletions, restarts and kills', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 5, maxLength: 60 }), async (commands) => {
        const run = new Run();
        await run.open();
        for (const one of commands) {
          await run.do(one);
          if (one.kind === 'reopen' || one.kind === 'kill') run.check();
        }
        run.check();
        await run.dir?.close();
      }),
      {
        numRuns: 150,
        // An open transaction of which delete-records has left nothing, and a kill.
        examples: [
          [
            [
              { kind: 'transactional', producer: 1, count: 2 },
              { kind: 'append', count: 5, size: 138, ageMs: 0 },
              { kind: 'deleteRecords', share: 0.2857142857142857 },
              { kind: 'flush' },
              { kind: 'idempotent', producer: 1, count: 1 },
              { kind: 'idempotent', producer: 1, count: 1 },
              { kind: 'kill' },
              { kind: 'idempotent', producer: 1, count: 1 },
            ],
          ],
        ],
      },
    );
  }, 120_000);

  it('refuse what contradicts them, and change nothing by that', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 0, maxLength: 300 }),
        fc.boolean(),
        async (bytes, hasHeader) => {
          const run = new Run();
          await run.open();
          await run.do({ kind: 'append', count: 3, size: 10, ageMs: 0 });
          const junk = Buffer.from(bytes);
          // With a plausible header the checks behind the first ones are reached.
          const batch = hasHeader
            ? Buffer.concat([batchOf([{ value: 'v' }]).subarray(0, 61), junk])
            : junk;
          if (hasHeader) batch.writeInt32BE(batch.length - 12, 8);
          expect(() => run.log.appendAsLeader(batch)).toThrow(LogStoreError);
          run.check();
          await run.dir?.close();
        },
      ),
      { numRuns: 200 },
    );
  }, 60_000);
});
