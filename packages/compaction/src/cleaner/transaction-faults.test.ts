import { BatchIterator } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import type { Log } from '../log/log.ts';
import type { FakeClock } from '../platform/fake-clock.ts';
import type { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf, markerBatch } from '../testing/batches.ts';
import { cleanNow, toolsOf } from '../testing/cleaning.ts';
import { configOf, newMemoryLog, openMemoryDir, readAll, ROOT } from '../testing/memory-log-dir.ts';

const RETENTION_MS = 1_000;
const COMPACT = { 'cleanup.policy': 'compact', 'delete.retention.ms': String(RETENTION_MS) };
/** A group, and a cleaned segment, for each source. */
const APART = { ...COMPACT, 'internal.segment.bytes': '80' };

interface Setup {
  readonly log: Log;
  readonly disk: MemoryDisk;
  readonly clock: FakeClock;
}

const plain = (log: Log, key: string, value: string | null): void => {
  log.appendAsLeader(batchOf([{ key, value }]));
};

function transactional(
  log: Log,
  producerId: bigint,
  key: string,
  value: string,
  sequence = 0,
): void {
  const producer = { producerId, producerEpoch: 0, baseSequence: sequence, isTransactional: true };
  log.appendAsLeader(batchOf([{ key, value }], producer));
}

function end(log: Log, producerId: bigint, type: 'commit' | 'abort'): void {
  log.appendAsLeader(markerBatch(type, producerId), { origin: 'coordinator' });
}

const clean = ({ log, disk, clock }: Setup, slots?: number, checkpoint?: bigint) =>
  cleanNow(log, toolsOf(disk, clock, slots), checkpoint);

const data = (log: Log): (string | null)[] =>
  readAll(log).flatMap((one) => (one.isControl ? [] : [one.value]));

const markers = (log: Log): bigint[] =>
  readAll(log).flatMap((one) => (one.isControl ? [one.offset] : []));

/** The state that a start after a kill makes of what is on disk. */
async function reopened({ disk, clock }: Setup): Promise<Log> {
  const config = configOf(COMPACT);
  const dir = await openMemoryDir({ disk: disk.afterKill(), clock, config });
  return dir.log('t', 0) as Log;
}

describe('transactions, where other cleaners have gone wrong', () => {
  it('KAFKA-8351: what was aborted goes, and its marker stays, also when they are in different groups', async () => {
    const made = await newMemoryLog(APART);
    const { log, clock } = made;
    plain(log, 'a', 'committed');
    transactional(log, 1n, 'a', 'aborted');
    transactional(log, 2n, 'b', 'taken');
    end(log, 1n, 'abort');
    end(log, 2n, 'commit');
    transactional(log, 1n, 'c', 'later', 1);
    end(log, 1n, 'commit');
    log.roll();
    expect(log.segments.length).toBeGreaterThan(4);
    await clean(made);
    expect(data(log)).toEqual(['committed', 'taken', 'later']);
    expect(markers(log)).toEqual([3n, 4n, 6n]);
    // The abort marker has nothing left to speak for: stamped by the second pass, gone in the third.
    await clean(made);
    expect(markers(log)).toEqual([3n, 4n, 6n]);
    clock.advance(RETENTION_MS);
    await clean(made);
    expect(markers(log)).toEqual([4n, 6n]);
    expect(data(log)).toEqual(['committed', 'taken', 'later']);
    expect(data(await reopened(made))).toEqual(['committed', 'taken', 'later']);
  });

  it('KAFKA-13727: nothing aborted comes back when a pass ends within its segment', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    plain(log, 'a', '1');
    plain(log, 'b', '1');
    plain(log, 'c', '1');
    transactional(log, 1n, 'a', 'aborted');
    transactional(log, 1n, 'd', 'aborted', 1);
    end(log, 1n, 'abort');
    plain(log, 'a', '2');
    log.roll();
    const report = await clean(made, 2);
    expect(report?.nextFirstDirtyOffset).toBe(2n);
    expect(data(log)).toEqual(['1', '1', '1', '2']);
    expect(markers(log)).toEqual([5n]);
    const again = await reopened(made);
    expect(data(again)).toEqual(['1', '1', '1', '2']);
    await clean(made, 20, report?.nextFirstDirtyOffset);
    expect(data(log)).toEqual(['1', '1', '2']);
  });

  it('KAFKA-14055: a key with the bytes of a marker is a key like others', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    const keys = ['\0\0\0\u0001', '\0\0\0\0'];
    for (const key of keys) plain(log, key, 'stays');
    transactional(log, 1n, 'x', 'taken');
    end(log, 1n, 'commit');
    transactional(log, 1n, 'x', 'aborted', 1);
    end(log, 1n, 'abort');
    log.roll();
    await clean(made);
    expect(data(log)).toEqual(['stays', 'stays', 'taken']);
  });

  it('KAFKA-7385, 7467: a log of nothing but markers is cleaned, read and opened', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log, clock } = made;
    for (const producerId of [1n, 2n, 3n]) end(log, producerId, 'commit');
    log.roll();
    for (let pass = 0; pass < 4; pass++) {
      await clean(made);
      clock.advance(RETENTION_MS);
    }
    expect(log.logEndOffset).toBe(3n);
    for (let offset = 0n; offset <= 3n; offset++) log.read(offset, 1_000);
    expect(data(log)).toEqual([]);
    const again = await reopened(made);
    expect(again.logEndOffset).toBe(3n);
  });

  it('KAFKA-8335, 5490: of a producer only its very last batch is kept empty, whatever its sequences', async () => {
    const made = await newMemoryLog(COMPACT);
    const { log } = made;
    for (let producerEpoch = 0; producerEpoch < 5; producerEpoch++) {
      const producer = { producerId: 7n, producerEpoch, baseSequence: 0 };
      log.appendAsLeader(batchOf([{ key: 'k', value: 'x' }], producer));
    }
    plain(log, 'k', 'last');
    log.roll();
    for (let pass = 0; pass < 3; pass++) await clean(made);
    const batches = new BatchIterator(made.disk.contentOf(`${ROOT}/t-0/${'0'.repeat(20)}.log`));
    const left: [bigint, number][] = [];
    for (let batch = batches.next(); batch; batch = batches.next()) {
      left.push([batch.baseOffset, batch.recordCount]);
    }
    expect(left).toEqual([
      [4n, 0],
      [5n, 1],
    ]);
  });
});
