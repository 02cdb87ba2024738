import { BatchIterator } from '@millrace/protocol';
import type { RecordBatch } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import type { Disk } from '../../platform/disk.ts';
import { batchOf } from '../../testing/batches.ts';
import { cleanNow, toolsOf } from '../../testing/cleaning.ts';
import { configOf, newMemoryLog, readAll } from '../../testing/memory-log-dir.ts';
import { cleanableRange } from '../cleanable-range.ts';
import { CleanedSegments } from './cleaned-segments.ts';
import { cleaningTaskOf } from '../cleaning-task-of.ts';
import { DecodedBatches } from './decoded-batches.ts';
import type { CleaningPass } from './pass.ts';
import { RecordScanner } from './record-scanner.ts';

const COMPACT = { 'cleanup.policy': 'compact' };
const MIB = 1_048_576;
const BATCH_BYTES = 64 * MIB;
const BATCH_LENGTH_AT = 8;
const BATCH_LOG_OVERHEAD = 12;

/** A disk that takes what is written and keeps none of it: of each file its size alone. */
function forgetful(disk: Disk, sizes: Map<string, number>): Disk {
  return {
    open: (path, mode) => ({
      ...disk.open(path, mode),
      path,
      sizeBytes: () => sizes.get(path) ?? 0,
      write: (source, position) => sizes.set(path, position + source.length),
      truncate: (sizeBytes) => sizes.set(path, sizeBytes),
      close: () => undefined,
    }),
    stat: (path) => disk.stat(path),
    list: (directory) => disk.list(directory),
    readFile: (path) => disk.readFile(path),
    writeFile: () => undefined,
    makeDirectory: () => undefined,
    rename: () => undefined,
    unlink: () => undefined,
    setModified: () => undefined,
    removeTree: () => Promise.resolve(),
    syncDirectory: () => Promise.resolve(),
  };
}

async function newPass(sizes: Map<string, number>): Promise<CleaningPass> {
  const { log, disk, clock } = await newMemoryLog(COMPACT);
  log.appendAsLeader(batchOf([{ key: 'a', value: '1' }]));
  log.roll();
  const nowMs = clock.now();
  const task = cleaningTaskOf(log, cleanableRange(log, undefined, nowMs), nowMs);
  const tools = toolsOf(forgetful(disk, sizes), clock);
  return {
    ...tools,
    ioBufferBytes: BATCH_BYTES,
    task,
    scanner: new RecordScanner(task.settings.maxDecompressedMessageBytes),
    decoded: new DecodedBatches(tools.map),
    stats: {} as CleaningPass['stats'],
  };
}

/** The batch with this offset at the end of the output, with nothing behind its header. */
function writeHugeBatch(cleaned: CleanedSegments, offset: bigint): RecordBatch {
  const { output } = cleaned;
  const start = output.length;
  output.reserve(BATCH_BYTES);
  batchOf([{ key: 'a', value: '1' }], { baseOffset: offset }).copy(output.bytes, start);
  output.bytes.writeInt32BE(BATCH_BYTES - BATCH_LOG_OVERHEAD, start + BATCH_LENGTH_AT);
  output.length = start + BATCH_BYTES;
  return new BatchIterator(output.bytes.subarray(start, output.length)).next() as RecordBatch;
}

describe('what a group of segments becomes', () => {
  it('KAFKA-20036: is one segment, larger than segment.bytes, if that is what compressing anew makes of it', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    for (let batch = 0; batch < 6; batch++) {
      const keys = Array.from({ length: 100 }, (_, i) => `k${String(batch * 100 + i)}`);
      log.appendAsLeader(batchOf(keys.map((key) => ({ key, value: null }))));
    }
    log.roll();
    const before = readAll(log);
    const { sizeInBytes } = log;
    log.updateConfig(configOf({ ...COMPACT, 'internal.segment.bytes': String(sizeInBytes) }));
    await cleanNow(log, toolsOf(made.disk, made.clock), undefined);
    expect(log.segments.map((one) => one.baseOffset)).toEqual([0n, 600n]);
    expect(log.segments[0]?.sizeBytes).toBeGreaterThan(sizeInBytes);
    expect(readAll(log)).toEqual(before);
  });

  it('KAFKA-20036: goes on in another segment where file positions end, at 2 GiB', async () => {
    const sizes = new Map<string, number>();
    const cleaned = new CleanedSegments(await newPass(sizes), 0n);
    for (let offset = 0n; offset < 33n; offset++) {
      const start = cleaned.output.length;
      cleaned.commit(writeHugeBatch(cleaned, offset), start, null);
    }
    cleaned.close();
    expect(cleaned.baseOffsets).toEqual([0n, 31n]);
    const logs = [...sizes].filter(([path]) => path.endsWith('.log.cleaned'));
    expect(logs.map(([, sizeBytes]) => sizeBytes)).toEqual([31 * BATCH_BYTES, 2 * BATCH_BYTES]);
  });

  it('goes on in another segment when its index is full and has to take one more entry', async () => {
    // Four batches to a segment, three of which have entries: the first one's position is known.
    const tight = { ...COMPACT, 'index.interval.bytes': '0', 'segment.index.bytes': '48' };
    const made = await newMemoryLog(tight);
    const { log } = made;
    for (let i = 0; i < 12; i++) {
      log.appendAsLeader(batchOf([{ key: `k${String(i)}`, value: '1', timestamp: i + 1 }]));
    }
    log.roll();
    const before = readAll(log);
    expect(log.segments.map((one) => one.baseOffset)).toEqual([0n, 4n, 8n, 12n]);
    // Two segments' indexes are no larger, but leave no room for an entry where the two meet.
    log.updateConfig(configOf({ ...tight, 'segment.index.bytes': '84' }));
    await cleanNow(log, toolsOf(made.disk, made.clock), undefined);
    expect(readAll(log)).toEqual(before);
    expect(log.segments.map((one) => one.baseOffset)).toEqual([0n, 7n, 8n, 12n]);
  });
});
