import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Log } from '../log/log.ts';
import type { FakeClock } from '../platform/fake-clock.ts';
import type { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf, markerBatch } from '../testing/batches.ts';
import type { SeenRecord } from '../testing/batches.ts';
import { cleanNow, toolsOf } from '../testing/cleaning.ts';
import { configOf, newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';
import { nextOffsetOf } from '../testing/memory-log-dir.ts';

const RETENTION_MS = 1_000;
const SETTINGS = {
  'cleanup.policy': 'compact',
  'internal.segment.bytes': '600',
  'index.interval.bytes': '40',
  'delete.retention.ms': String(RETENTION_MS),
  'message.timestamp.after.max.ms': '9007199254740991',
};

type Step =
  | { readonly kind: 'plain'; readonly keys: readonly number[]; readonly codec: 'none' | 'lz4' }
  | { readonly kind: 'txn'; readonly producer: number; readonly keys: readonly number[] }
  | { readonly kind: 'end'; readonly producer: number; readonly commits: boolean }
  | { readonly kind: 'roll' };

/** A key above this is written without a value. */
const KEYS = 5;
const keys = fc.array(fc.nat(KEYS * 2 - 1), { minLength: 1, maxLength: 5 });
const producer = fc.integer({ min: 1, max: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('plain' as const), keys, codec: fc.constantFrom('none', 'lz4') }),
  fc.record({ kind: fc.constant('txn' as const), producer, keys }),
  fc.record({ kind: fc.constant('end' as const), producer, commits: fc.boolean() }),
  fc.record({ kind: fc.constant('roll' as const) }),
);
/** Histories, each followed by a pass whose map has room for some keys. */
const history = fc.array(
  fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 12 }),
    slots: fc.integer({ min: 2, max: 12 }),
    pauseMs: fc.constantFrom(0, RETENTION_MS + 1),
  }),
  { minLength: 1, maxLength: 4 },
);

interface Writer {
  readonly log: Log;
  readonly clock: FakeClock;
  readonly sequences: Map<number, number>;
  readonly open: Set<number>;
  count: number;
}

function apply(writer: Writer, one: Step): void {
  const { log, clock, sequences, open } = writer;
  const recordsOf = (
    list: readonly number[],
  ): { key: string; value: string | null; timestamp: number }[] =>
    list.map((key) => ({
      key: `k${String(key % KEYS)}`,
      value: key >= KEYS ? null : `v${String(writer.count++)}`,
      timestamp: clock.now() - (writer.count % 7),
    }));
  switch (one.kind) {
    case 'roll':
      log.roll();
      return;
    case 'plain':
      log.appendAsLeader(batchOf(recordsOf(one.keys), { codec: one.codec }));
      return;
    case 'end':
      if (!open.delete(one.producer)) return;
      log.appendAsLeader(
        markerBatch(one.commits ? 'commit' : 'abort', BigInt(one.producer), 0, 0, clock.now()),
        { origin: 'coordinator' },
      );
      return;
    case 'txn': {
      const baseSequence = sequences.get(one.producer) ?? 0;
      sequences.set(one.producer, baseSequence + one.keys.length);
      open.add(one.producer);
      log.appendAsLeader(
        batchOf(recordsOf(one.keys), {
          producerId: BigInt(one.producer),
          producerEpoch: 0,
          baseSequence,
          isTransactional: true,
        }),
      );
    }
  }
}

/** What a read-committed consumer gets, markers left out. */
function readCommitted(log: Log): SeenRecord[] {
  const aborted = log.segments.flatMap((segment) => segment.txnIndex.entries());
  return readAll(log).filter(
    (one) =>
      !one.isControl &&
      one.offset < log.lastStableOffset &&
      !aborted.some(
        (txn) =>
          one.offset >= txn.firstOffset &&
          one.offset < txn.lastOffset &&
          txn.producerId === producerOf(log, one.offset),
      ),
  );
}

function producerOf(log: Log, offset: bigint): bigint {
  return log.read(offset, 1).records.readBigInt64BE(43);
}

const tableOf = (records: readonly SeenRecord[]): Record<string, string> => {
  const table = new Map<string, string>();
  for (const { key, value } of records) {
    if (value === null) table.delete(key ?? '');
    else table.set(key ?? '', value);
  }
  return Object.fromEntries([...table].sort());
};

const dataOf = (records: readonly SeenRecord[]): SeenRecord[] =>
  records.filter((one) => !one.isControl);

const text = (one: SeenRecord): string =>
  [one.offset, one.key, one.value, one.timestamp, one.isControl].join();

const filesOf = (disk: MemoryDisk): Record<string, string> =>
  Object.fromEntries(
    disk
      .list(`${ROOT}/t-0`)
      .filter(({ name }) => /\.(log|index|timeindex|txnindex)$/.test(name))
      .map(({ name }) => [name, disk.readFile(`${ROOT}/t-0/${name}`).toString('hex')]),
  );

/** Runs a history with its passes; `judge` sees the log before and after each. */
async function forEachPass(
  judge: (pass: {
    readonly before: { all: SeenRecord[]; committed: SeenRecord[]; end: bigint };
    readonly log: Log;
    readonly disk: MemoryDisk;
    readonly clock: FakeClock;
    readonly checkpoint: bigint;
    readonly firstUncleanable: bigint;
  }) => void | Promise<void>,
  runs = 60,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(history, async (rounds) => {
      const { log, disk, clock } = await newMemoryLog(SETTINGS);
      const writer: Writer = { log, clock, sequences: new Map(), open: new Set(), count: 0 };
      let checkpoint = 0n;
      for (const { steps, slots, pauseMs } of rounds) {
        for (const one of steps) {
          clock.advance(5);
          apply(writer, one);
        }
        clock.advance(pauseMs);
        const before = {
          all: readAll(log),
          committed: readCommitted(log),
          end: log.logEndOffset,
        };
        const { baseOffset } = log.segments.at(-1) as Log['segments'][0];
        const stable = log.lastStableOffset;
        const report = await cleanNow(log, toolsOf(disk, clock, slots), checkpoint);
        if (report === null) continue;
        checkpoint = report.nextFirstDirtyOffset;
        const firstUncleanable = stable < baseOffset ? stable : baseOffset;
        await judge({ before, log, disk, clock, checkpoint, firstUncleanable });
      }
    }),
    { numRuns: runs },
  );
}

describe('whatever the history, a pass', () => {
  it('P1 leaves records as they were, in order, and adds none', async () => {
    await forEachPass(({ before, log }) => {
      const known = new Set(before.all.map(text));
      const after = readAll(log);
      for (const one of after) expect(known.has(text(one))).toBe(true);
      for (const [index, one] of after.entries()) {
        if (index > 0) expect(one.offset > (after[index - 1] as SeenRecord).offset).toBe(true);
      }
    });
  });

  it('P2 leaves the last committed record of every key, but for a tombstone', async () => {
    await forEachPass(({ before, log }) => {
      const left = new Set(readAll(log).map((one) => one.offset));
      const last = new Map(before.committed.map((one) => [one.key, one]));
      for (const one of last.values()) {
        if (one.value !== null) expect(left.has(one.offset)).toBe(true);
      }
    });
  });

  it('P3 changes nothing from the first uncleanable offset on, P4 nor the end', async () => {
    await forEachPass(({ before, log, firstUncleanable }) => {
      const behind = (records: readonly SeenRecord[]): string[] =>
        records.filter((one) => one.offset >= firstUncleanable).map(text);
      expect(behind(readAll(log))).toEqual(behind(before.all));
      expect(log.logEndOffset).toBe(before.end);
    });
  });

  it('P5, P6 leaves the same table for a reader from the start', async () => {
    await forEachPass(({ before, log }) => {
      expect(tableOf(readCommitted(log))).toEqual(tableOf(before.committed));
    });
  });

  it('P5 shows a tombstone to whoever reads in less than delete.retention.ms', async () => {
    await forEachPass(async ({ log, disk, clock, checkpoint }) => {
      const tombstones = dataOf(readAll(log)).filter((one) => one.value === null);
      // A second pass at the same time may not take one that is the last of its key.
      const last = new Map(readCommitted(log).map((one) => [one.key, one.offset]));
      // The first pass may have had too small a map to come as far as one whose time is over.
      const kept = tombstones.filter(
        ({ key, offset }) => last.get(key) === offset && !isHorizonPassed(log, offset, clock),
      );
      await cleanNow(log, toolsOf(disk, clock), checkpoint);
      const left = new Set(readAll(log).map((one) => one.offset));
      expect(kept.filter(({ offset }) => !left.has(offset))).toEqual([]);
    }, 40);
  });

  it('P7 has nothing to do when it was there just before', async () => {
    await forEachPass(async ({ log, disk, clock }) => {
      // From the start, with room for all keys; after three passes nothing is left to be marked or removed.
      const again = async (): Promise<void> => {
        await cleanNow(log, toolsOf(disk, clock), undefined);
      };
      await again();
      await again();
      await again();
      const files = filesOf(disk);
      await again();
      expect(filesOf(disk)).toEqual(files);
    }, 40);
  });

  it('P8 leaves what is known of active producers, also for a start that rebuilds it', async () => {
    await forEachPass(async ({ log, disk, clock }) => {
      const known = log.producers().map((one) => ({
        id: one.producerId,
        epoch: one.producerEpoch,
        lastSequence: one.lastSequence,
        open: one.currentTxnFirstOffset,
      }));
      await log.flush();
      const copy = disk.afterKill();
      for (const { name } of copy.list(`${ROOT}/t-0`)) {
        if (name.endsWith('.snapshot')) copy.unlink(`${ROOT}/t-0/${name}`);
      }
      const dir = await openMemoryDir({ disk: copy, clock, config: configOf(SETTINGS) });
      const rebuilt = dir.log('t', 0) as Log;
      expect(
        rebuilt.producers().map((one) => ({
          id: one.producerId,
          epoch: one.producerEpoch,
          lastSequence: one.lastSequence,
          open: one.currentTxnFirstOffset,
        })),
      ).toEqual(known);
      expect(rebuilt.logEndOffset).toBe(log.logEndOffset);
      expect(readAll(rebuilt)).toEqual(readAll(log));
    }, 40);
  });

  it('P9 leaves indexes that lead to the batch, or before it', async () => {
    await forEachPass(({ before, log }) => {
      const survivors = readAll(log);
      for (const { offset } of before.all) {
        const expected = survivors.find((one) => one.offset >= offset);
        const { records } = log.read(offset, 1);
        if (!expected) continue;
        expect(nextOffsetOf(records) > offset).toBe(true);
      }
    });
  });
});

function isHorizonPassed(log: Log, offset: bigint, clock: FakeClock): boolean {
  const { records } = log.read(offset, 1);
  const hasHorizon = (records.readInt16BE(21) & 0x40) !== 0;
  return hasHorizon && Number(records.readBigInt64BE(27)) <= clock.now();
}
