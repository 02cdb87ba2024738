/** Public reports on cleaners of Kafka and of others, by their number in the list of reports. */
import {
  cleanOnce,
  CleaningAbortedError,
  describeCleaning,
  FakeClock,
  LogDir,
  MemoryDisk,
  OffsetMap,
  parseLogConfig,
  systemRandom,
  type CleaningControl,
  type CleaningDescription,
  type CleaningReport,
  type Log,
} from '@millrace/compaction';
import { BatchBuilder, BatchIterator, RecordCursor, type BuildOptions } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';

const ROOT = '/data';
const HOUR_MS = 3_600_000;
const MIB = 1_048_576;
const COMPACT = { 'cleanup.policy': 'compact' };
const UNHINDERED: CleaningControl = { ensureWanted: () => undefined, throttle: () => undefined };
const locker = { acquire: () => Promise.resolve({ release: () => Promise.resolve() }) };

type Entries = Readonly<Record<string, string>>;
type Pair = readonly [key: string | null, value: string | null];

const configOf = (entries: Entries) => parseLogConfig(new Map(Object.entries(entries)));

/** A directory in memory with the logs t-0, t-1 ..., a clock, and a cleaner as a broker would have one. */
class Bench {
  readonly disk: MemoryDisk;
  readonly clock: FakeClock;
  readonly dir: LogDir;

  private constructor(disk: MemoryDisk, clock: FakeClock, dir: LogDir) {
    this.disk = disk;
    this.clock = clock;
    this.dir = dir;
  }

  static async open(entries: Entries = COMPACT, logs = 1): Promise<Bench> {
    const disk = new MemoryDisk();
    const clock = new FakeClock();
    const dir = await LogDir.open(ROOT, { disk, clock, locker });
    for (let i = 0; i < logs; i++) dir.createLog('t', i, null, configOf(entries));
    return new Bench(disk, clock, dir);
  }

  /** What a start after a kill finds. */
  async afterKill(entries: Entries = COMPACT): Promise<Bench> {
    const disk = this.disk.afterKill();
    const options = { disk, clock: this.clock, locker, configOf: () => configOf(entries) };
    return new Bench(disk, this.clock, await LogDir.open(ROOT, options));
  }

  log(partition = 0): Log {
    return this.dir.log('t', partition) as Log;
  }

  append(pairs: readonly Pair[], options: BuildOptions = {}, partition = 0): void {
    this.log(partition).appendAsLeader(batchOf(this.clock.now(), pairs, options));
  }

  describe(partition = 0): CleaningDescription {
    const log = this.log(partition);
    return describeCleaning(log, this.dir.cleanerOffsets.get(log.name), this.clock.now());
  }

  /** A pass, if the log is eligible; null: it isn't. */
  async clean(
    partition = 0,
    { slots = 1_000, control = UNHINDERED } = {},
  ): Promise<CleaningReport | null> {
    const { isEligible, range } = this.describe(partition);
    const log = this.log(partition);
    if (range.isCheckpointInvalid) await this.dir.updateCleanerOffset(log, range.firstDirtyOffset);
    if (!isEligible) return null;
    const { disk, clock } = this;
    const map = new OffsetMap(slots * 24, 1, systemRandom);
    const tools = { disk, clock, map, ioBufferBytes: 4_096, control };
    const report = await cleanOnce(log, range, tools, clock.now());
    await this.dir.updateCleanerOffset(log, report.nextFirstDirtyOffset);
    return report;
  }

  files(partition = 0): Record<string, string> {
    const directory = `${ROOT}/t-${String(partition)}`;
    return Object.fromEntries(
      this.disk
        .list(directory)
        .map(({ name }) => [name, this.disk.contentOf(`${directory}/${name}`).toString('hex')]),
    );
  }
}

function batchOf(timestamp: number, pairs: readonly Pair[], options: BuildOptions = {}): Buffer {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 24 });
  const bytes = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text));
  for (const [key, value] of pairs) builder.appendBytes(timestamp, bytes(key), bytes(value), null);
  return Buffer.from(builder.build(options));
}

/** As a consumer from the beginning sees it: offset, key, value. */
function read(log: Log): [bigint, string | null, string | null][] {
  const seen: [bigint, string | null, string | null][] = [];
  const cursor = new RecordCursor();
  let at = log.logStartOffset;
  for (;;) {
    const { records } = log.read(at, MIB);
    if (records.length === 0) return seen;
    const batches = new BatchIterator(records);
    for (let batch = batches.next(); batch; batch = batches.next()) {
      cursor.open(batch);
      while (cursor.next()) {
        const text = (bytes: Buffer | null): string | null => bytes?.toString() ?? null;
        seen.push([cursor.offset(), text(cursor.key()), text(cursor.value())]);
      }
      at = batch.nextOffset;
    }
  }
}

const offsetsOf = (log: Log): bigint[] => read(log).map(([offset]) => offset);

/** Eight segments, the second four an hour and a millisecond after the first four. */
async function twoBlocks(entries: Entries): Promise<Bench> {
  const bench = await Bench.open({ ...COMPACT, ...entries });
  for (let i = 0; i < 8; i++) {
    if (i === 4) bench.clock.advance(HOUR_MS + 1);
    if (i > 0) bench.log().roll();
    bench.append([
      ['k', String(i)],
      [`k${String(i)}`, 'x'],
    ]);
  }
  return bench;
}

describe('what may be cleaned', () => {
  it('109: only what is older than the lag, behind it by enough bytes and by enough messages (KAFKA-1981, KIP-58)', async () => {
    const end = (bench: Bench): bigint => bench.describe().range.firstUncleanableOffset;
    expect(end(await twoBlocks({ 'min.compaction.lag.ms': String(HOUR_MS) }))).toBe(8n);
    expect(end(await twoBlocks({}))).toBe(14n);
    const segmentBytes = (await twoBlocks({})).log().segments[0]?.sizeBytes ?? 0;
    const bytes = { 'min.compaction.lag.bytes': String(3 * segmentBytes) };
    const messages = { 'min.compaction.lag.messages': '12' };
    const age = { 'min.compaction.lag.ms': String(HOUR_MS) };
    expect(end(await twoBlocks(bytes))).toBe(10n);
    expect(end(await twoBlocks(messages))).toBe(4n);
    expect(end(await twoBlocks({ ...bytes, ...age }))).toBe(8n);
    expect(end(await twoBlocks({ ...bytes, ...age, ...messages }))).toBe(4n);
    const all = await twoBlocks({ 'min.compaction.lag.messages': '100' });
    expect(all.describe()).toMatchObject({ isEligible: false, reason: 'held-back' });
    const bench = await twoBlocks({ ...bytes, ...age });
    await bench.clean();
    expect(offsetsOf(bench.log())).toEqual([
      1n,
      3n,
      5n,
      6n,
      7n,
      8n,
      9n,
      10n,
      11n,
      12n,
      13n,
      14n,
      15n,
    ]);
  });

  it('110: an idle active segment is cleaned once a later record has rolled it, then whatever the ratio (KAFKA-20664, redpanda#26112)', async () => {
    const lag = { 'max.compaction.lag.ms': '10000', 'min.cleanable.dirty.ratio': '1' };
    const bench = await Bench.open({ ...COMPACT, ...lag });
    bench.append([['clean', 'x']]);
    bench.log().roll();
    await bench.clean();
    for (let i = 0; i < 5; i++) bench.append([['k', String(i)]]);
    bench.clock.advance(11_000);
    expect(bench.describe()).toMatchObject({ isEligible: false, reason: 'nothing-dirty' });
    expect(bench.log().segments).toHaveLength(2);
    bench.append([['k', '5']]);
    expect(bench.log().segments).toHaveLength(3);
    expect(bench.describe()).toMatchObject({
      isEligible: true,
      reason: 'max-compaction-lag',
      range: { maxLagExceededMs: 1_000 },
    });
    expect(bench.describe().range.dirtyRatio).toBeLessThan(1);
    await bench.clean();
    expect(read(bench.log()).map(([, , value]) => value)).toEqual(['x', '4', '5']);
  });

  it('112: jitter as long as the longest segment does not make one of each record (linkedin/kafka#521)', async () => {
    const jitter = { 'max.compaction.lag.ms': '1000', 'segment.jitter.ms': '100000' };
    const bench = await Bench.open({ ...COMPACT, ...jitter });
    for (let i = 0; i < 200; i++) bench.append([[`k${String(i)}`, 'x']]);
    expect(bench.log().segments).toHaveLength(1);
    bench.clock.advance(1_001);
    bench.append([['k', 'x']]);
    expect(bench.log().segments).toHaveLength(2);
  });

  it('122: sizes beyond 2 and 4 GiB leave the ratio between 0 and 1 (KAFKA-6030)', () => {
    const segment = (baseOffset: bigint, sizeBytes: number) => ({
      baseOffset,
      sizeBytes,
      largestTimestamp: () => 0,
      firstBatchTimestamp: () => 0,
      dataRecordCount: () => 1,
    });
    for (const sizeBytes of [1.5 * 2 ** 30, 2 ** 31, 2 ** 32 + 5, 2 ** 40]) {
      const log = {
        config: configOf(COMPACT),
        logStartOffset: 0n,
        logEndOffset: 4n,
        lastStableOffset: 4n,
        segments: [0n, 1n, 2n, 3n].map((base) => segment(base, sizeBytes)),
        producers: () => [],
      };
      const { range, regions } = describeCleaning(log, 1n, 1_000);
      expect(range.dirtyRatio).toBe(2 / 3);
      expect(range.compactableBytes).toBe(2 * sizeBytes);
      expect(regions.map((region) => region.sizeBytes)).toEqual([
        sizeBytes,
        2 * sizeBytes,
        sizeBytes,
      ]);
    }
  });

  it('127: limits that are changed while it runs hold from the next look on (KAFKA-13996, 14926)', async () => {
    const bench = await twoBlocks({ 'min.compaction.lag.ms': String(2 * HOUR_MS) });
    expect(bench.describe().reason).toBe('held-back');
    bench.log().updateConfig(configOf({ ...COMPACT, 'min.compaction.lag.ms': '0' }));
    expect(bench.describe()).toMatchObject({ reason: 'dirty-ratio', hold: null });
    await bench.clean();
    bench.append([['k', '9']]);
    bench.log().roll();
    bench.log().updateConfig(configOf({ ...COMPACT, 'min.cleanable.dirty.ratio': '0.99' }));
    expect(bench.describe().reason).toBe('ratio-below-limit');
  });
});

describe('what a pass does', () => {
  it('113: a log that fails is as it was and named; the others are cleaned, and it is, too, once repaired (KAFKA-7215, 19895)', async () => {
    const bench = await Bench.open(COMPACT, 2);
    for (const partition of [0, 1]) {
      bench.append([['k', '1']], {}, partition);
      bench.append([['k', '2']], {}, partition);
      bench.log(partition).roll();
    }
    const file = `${ROOT}/t-0/${'0'.repeat(20)}.log`;
    const bytes = bench.disk.contentOf(file);
    const at = bytes.length - 2;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    // Leader epochs are written behind.
    await bench.log(0).flush();
    await new Promise(setImmediate);
    const before = bench.files();
    await expect(bench.clean(0)).rejects.toThrow(`${file} at byte ${String(bytes.length / 2)}`);
    expect(bench.files()).toEqual(before);
    await bench.clean(1);
    expect(offsetsOf(bench.log(1))).toEqual([1n]);
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    await bench.clean(0);
    expect(offsetsOf(bench.log(0))).toEqual([1n]);
  });

  it('115: batches larger than the buffers, that grow, or of which nothing is left, are no obstacle (KAFKA-6834, 5316, 6854)', async () => {
    const bench = await Bench.open({ ...COMPACT, 'max.message.bytes': String(MIB) });
    const large = 'x'.repeat(100_000);
    bench.append([
      ['large', large],
      ['other', large],
    ]);
    for (let i = 0; i < 200; i++) bench.append([['gone', 'x'.repeat(100)]]);
    const tombstones = Array.from({ length: 2_000 }, (_, i): Pair => [`t${String(i)}`, null]);
    bench.append(tombstones);
    bench.append([
      ['large', 'small'],
      ['gone', 'last'],
    ]);
    bench.log().roll();
    bench.log().updateConfig(configOf({ ...COMPACT, 'max.message.bytes': '1000' }));
    const grownFrom = batchOf(0, tombstones).length;
    await bench.clean(0, { slots: 10_000 });
    const values = read(bench.log());
    expect(values.filter(([, , value]) => value === null)).toHaveLength(2_000);
    expect(values.filter(([, , value]) => value !== null).map(([, key]) => key)).toEqual([
      'other',
      'large',
      'gone',
    ]);
    expect(bench.log().sizeInBytes - large.length).toBeGreaterThan(grownFrom);
  });

  it('116: with only empty batches left, the end of the log and the sequences are what they were (KAFKA-7385, 17076, 5490)', async () => {
    const entries = { ...COMPACT, 'delete.retention.ms': '1' };
    const bench = await Bench.open(entries);
    for (let i = 0; i < 3; i++) {
      const producer = { producerId: BigInt(i % 2), producerEpoch: 0, baseSequence: i >> 1 };
      bench.append([['k', i === 2 ? null : String(i)]], producer);
    }
    bench.log().roll();
    for (let pass = 0; pass < 3; pass++) {
      await bench.dir.updateCleanerOffset(bench.log(), 0n);
      await bench.clean();
      bench.clock.advance(10);
    }
    expect(read(bench.log())).toEqual([]);
    const again = await bench.afterKill(entries);
    expect(again.log().logEndOffset).toBe(3n);
    const sequences = again
      .log()
      .producers()
      .map((one) => [one.producerId, one.lastSequence]);
    expect(sequences).toEqual(
      expect.arrayContaining([
        [0n, 1],
        [1n, 0],
      ]),
    );
  });

  it('118: offsets too far apart for one segment, and empty ones between (KAFKA-5413, 6264, 12889)', async () => {
    const far = [0n, 2n ** 31n + 1n, 2n ** 32n + 5n];
    const appendAt = (bench: Bench, baseOffset: bigint, key: string): void => {
      const batch = batchOf(bench.clock.now(), [[key, 'x']], { baseOffset, leaderEpoch: 0 });
      bench.log().appendAsFollower(batch);
    };
    const apart = await Bench.open();
    for (const [index, offset] of far.entries()) appendAt(apart, offset, `k${String(index)}`);
    apart.log().roll();
    await apart.clean();
    expect(offsetsOf(apart.log())).toEqual(far);
    expect((await apart.afterKill()).log().logEndOffset).toBe(2n ** 32n + 6n);

    const empty = await Bench.open();
    for (let i = 0n; i < 20n; i++) appendAt(empty, i * 2n ** 31n, 'k');
    empty.log().roll();
    expect(empty.log().segments.length).toBeGreaterThan(20);
    await empty.clean();
    await empty.dir.updateCleanerOffset(empty.log(), 0n);
    await empty.clean();
    expect(offsetsOf(empty.log())).toEqual([19n * 2n ** 31n]);
    expect(empty.log().segments.length).toBeLessThanOrEqual(3);
  });

  it('119: one pass from a checkpoint in a hole, inside a batch, beyond the end or before the start (KAFKA-8764, 9826, 8724, 1641)', async () => {
    const bench = await Bench.open({ ...COMPACT, 'cleanup.policy': 'compact,delete' });
    const log = bench.log();
    for (let i = 0; i < 3; i++) {
      bench.append([
        ['a', String(i)],
        ['b', String(i)],
      ]);
      log.roll();
    }
    await bench.clean();
    expect(offsetsOf(log)).toEqual([4n, 5n]);
    await log.deleteRecords(1n);
    bench.append([['a', '3']]);
    log.roll();
    for (const checkpoint of [0n, 2n, 3n, 5n, 6n, 99n]) {
      await bench.dir.updateCleanerOffset(log, checkpoint);
      await bench.clean();
      const { range } = bench.describe();
      expect([checkpoint, range.firstDirtyOffset]).toEqual([checkpoint, 7n]);
      expect(bench.describe().reason).toBe('nothing-dirty');
    }
    expect(offsetsOf(log)).toEqual([5n, 6n]);
    // Within the active segment: nothing to clean, and nothing to repair.
    bench.append([
      ['a', '4'],
      ['a', '5'],
    ]);
    await bench.dir.updateCleanerOffset(log, 8n);
    expect(await bench.clean()).toBeNull();
    expect(bench.dir.cleanerOffsets.get('t-0')).toBe(8n);
  });

  it('121: a tombstone stays for delete.retention.ms from the first pass that saw it on, without new data (KAFKA-4529, 8522)', async () => {
    const retention = { 'delete.retention.ms': '10000', 'max.compaction.lag.ms': '1' };
    const bench = await Bench.open({ ...COMPACT, ...retention });
    const passAt = async (): Promise<(string | null)[]> => {
      await bench.dir.updateCleanerOffset(bench.log(), 0n);
      await bench.clean();
      return read(bench.log()).map(([, , value]) => value);
    };
    bench.append([['k', '1']]);
    bench.append([['k', null]]);
    bench.log().roll();
    // Old already when the first pass sees it: that counts for nothing.
    bench.clock.advance(60_000);
    expect(await passAt()).toEqual([null]);
    bench.clock.advance(9_000);
    expect(await passAt()).toEqual([null]);
    bench.clock.advance(2_000);
    expect(await passAt()).toEqual([]);
    expect(bench.log().logEndOffset).toBe(2n);
  });

  it('124: an empty value is a value; only null deletes (kafkajs#326, kafkaflow#516, faststream#2932)', async () => {
    const bench = await Bench.open({ ...COMPACT, 'delete.retention.ms': '0' });
    bench.append([
      ['empty', ''],
      ['deleted', 'x'],
    ]);
    bench.append([['deleted', null]]);
    bench.log().roll();
    for (let pass = 0; pass < 3; pass++) {
      await bench.dir.updateCleanerOffset(bench.log(), 0n);
      await bench.clean();
    }
    expect(read(bench.log())).toEqual([[0n, 'empty', '']]);
  });

  it('125: a pass that is called off at any point leaves nothing half done, nor does one whose segments go (KAFKA-7322, 12840)', async () => {
    const entries = { ...COMPACT, 'internal.segment.bytes': '400', 'file.delete.delay.ms': '0' };
    let points = 0;
    for (let stopAt = 1; ; stopAt++) {
      const bench = await Bench.open(entries);
      for (let i = 0; i < 30; i++) bench.append([[`k${String(i % 9)}`, String(i)]]);
      bench.log().roll();
      const last = new Map(read(bench.log()).map(([, key, value]) => [key, value]));
      let asked = 0;
      const control: CleaningControl = {
        throttle: () => undefined,
        ensureWanted: () => {
          asked++;
          if (asked === stopAt) throw new CleaningAbortedError('called off');
        },
      };
      const outcome: unknown = await bench.clean(0, { control }).catch((error: unknown) => error);
      if (asked < stopAt) break;
      points++;
      expect(outcome).toBeInstanceOf(CleaningAbortedError);
      const names = Object.keys(bench.files());
      expect(names.filter((name) => /cleaned|swap/.test(name))).toEqual([]);
      expect(new Map(read(bench.log()).map(([, key, value]) => [key, value]))).toEqual(last);
      expect(bench.dir.cleanerOffsets.has('t-0')).toBe(false);
      // The policy loses `compact`: what is left is retention's, and whole.
      bench.log().updateConfig(configOf({ ...entries, 'cleanup.policy': 'delete' }));
      bench.clock.advance(200 * HOUR_MS);
      bench.log().runRetention();
      bench.clock.advance(1);
      expect(read(bench.log())).toEqual([]);
      expect(bench.log().logEndOffset).toBe(30n);
    }
    expect(points).toBeGreaterThan(10);
  });

  it('128: a kill at any rename of a swap leaves old or new, never both, never none (kafka-2118)', async () => {
    const filled = async (): Promise<Bench> => {
      const bench = await Bench.open({ ...COMPACT, 'internal.segment.bytes': '400' });
      for (let i = 0; i < 20; i++) bench.append([[`k${String(i % 9)}`, String(i)]]);
      bench.log().roll();
      return bench;
    };
    const whole = await filled();
    const before = offsetsOf(whole.log());
    await whole.clean();
    const after = new Set(offsetsOf(whole.log()));
    let renames = 0;
    for (let killAt = 1; ; killAt++) {
      const bench = await filled();
      let seen = 0;
      let first = 0;
      bench.disk.onOperation = (operation) => {
        if (operation.kind === 'rename' && ++seen === killAt && first === 0) {
          first = operation.number;
        }
        if (first > 0 && operation.number >= first) return { error: new Error('killed') };
        return undefined;
      };
      await bench.clean().catch(() => undefined);
      if (first === 0) break;
      renames++;
      bench.disk.onOperation = null;
      const again = await bench.afterKill();
      const found = offsetsOf(again.log());
      expect(found).toEqual(found.toSorted((a, b) => Number(a - b)));
      expect(new Set(found).size).toBe(found.length);
      const expected = before.filter((offset) => found.includes(offset) || after.has(offset));
      expect(found).toEqual(expected);
      expect(again.log().logEndOffset).toBe(20n);
      expect(Object.keys(again.files()).filter((name) => /cleaned|swap/.test(name))).toEqual([]);
    }
    expect(renames).toBeGreaterThan(5);
  });
});
