import { describe, expect, it } from 'vitest';
import {
  CoordinatorFencedError,
  InvalidProducerEpochError,
  InvalidTxnStateError,
  OutOfOrderSequenceError,
} from '../errors.ts';
import { markerBatch, plainBatch, T0 } from '../testing/batches.ts';
import { newMemoryLog, openMemoryDir, ROOT } from '../testing/memory-log-dir.ts';
import type { Log } from './log.ts';

const INT_MAX = 2_147_483_647;

function send(
  log: Log,
  baseSequence: number,
  count = 2,
  options: { epoch?: number; id?: bigint; isTransactional?: boolean; timestamp?: number } = {},
): ReturnType<Log['appendAsLeader']> {
  return log.appendAsLeader(
    plainBatch(count, {
      producerId: options.id ?? 1n,
      producerEpoch: options.epoch ?? 0,
      baseSequence,
      isTransactional: options.isTransactional ?? false,
      timestamp: options.timestamp ?? T0,
    }),
  );
}

const mark = (
  log: Log,
  type: 'commit' | 'abort',
  id = 1n,
  epoch = 0,
  coordinatorEpoch = 0,
): void => {
  log.appendAsLeader(markerBatch(type, id, epoch, coordinatorEpoch), { origin: 'coordinator' });
};

describe('an idempotent producer', () => {
  it('gets its original offsets for a repeat of one of its last five batches', async () => {
    const { log } = await newMemoryLog();
    for (let i = 0; i < 6; i++) send(log, i * 2);
    for (let i = 1; i < 6; i++) {
      const repeat = send(log, i * 2);
      expect(repeat).toMatchObject({
        isDuplicate: true,
        firstOffset: BigInt(i * 2),
        lastOffset: BigInt(i * 2 + 1),
      });
      expect(repeat.logAppendTime).toBe(T0);
    }
    // The sixth last is forgotten, so it is out of order.
    expect(() => send(log, 0)).toThrow(OutOfOrderSequenceError);
    expect(log.logEndOffset).toBe(12n);
  });

  it('is refused a gap, an old epoch, and a new epoch that does not start at 0', async () => {
    const { log } = await newMemoryLog();
    send(log, 0, 2, { epoch: 3 });
    expect(() => send(log, 3, 1, { epoch: 3 })).toThrow(OutOfOrderSequenceError);
    expect(() => send(log, 2, 1, { epoch: 2 })).toThrow(InvalidProducerEpochError);
    expect(() => send(log, 2, 1, { epoch: 4 })).toThrow(OutOfOrderSequenceError);
    send(log, 0, 1, { epoch: 4 });
    expect(log.logEndOffset).toBe(3n);
  });

  it('may start anywhere when nothing is known of it', async () => {
    const { log } = await newMemoryLog();
    expect(send(log, 4711).firstOffset).toBe(0n);
    expect(send(log, 4713).firstOffset).toBe(2n);
  });

  it('goes round at 2^31, inside a batch and between two', async () => {
    const { log } = await newMemoryLog();
    send(log, INT_MAX - 1, 4);
    expect(log.producers()[0]?.lastSequence).toBe(1);
    expect(send(log, INT_MAX - 1, 4).isDuplicate).toBe(true);
    send(log, 2, 1);
    const other = await newMemoryLog();
    send(other.log, INT_MAX - 1, 2);
    expect(send(other.log, 0, 1).firstOffset).toBe(2n);
  });

  it('is remembered across a restart by its last batch', async () => {
    const { log, dir, disk, clock, config } = await newMemoryLog();
    for (let i = 0; i < 4; i++) send(log, i * 2);
    await dir.close();
    const again = await openMemoryDir({ disk, clock, config });
    const reopened = again.log('t', 0) as Log;
    expect(send(reopened, 6)).toMatchObject({ isDuplicate: true, firstOffset: 6n });
    expect(() => send(reopened, 9)).toThrow(OutOfOrderSequenceError);
    expect(send(reopened, 8).firstOffset).toBe(8n);
    await again.close();
  });

  it.each([
    ['one segment', {}],
    ['several segments', { 'internal.segment.bytes': '200' }],
  ])('is remembered after a kill by all batches that it may repeat, in %s', async (_, entries) => {
    const { log, dir, disk, clock, config } = await newMemoryLog(entries);
    send(log, 0, 1, { id: 2n });
    for (let i = 0; i < 6; i++) {
      send(log, i * 2);
      // Another producer, and one without an id, in between.
      send(log, i + 1, 1, { id: 2n });
      log.appendAsLeader(plainBatch(1, { timestamp: T0 }));
    }
    const before = log.producers();
    const killed = disk.afterKill();
    await dir.close();
    const again = await openMemoryDir({ disk: killed, clock, config });
    const reopened = again.log('t', 0) as Log;
    expect(reopened.producers()).toEqual(before);
    for (let i = 1; i < 6; i++) {
      expect(send(reopened, i * 2)).toMatchObject({
        isDuplicate: true,
        firstOffset: BigInt(i * 4 + 1),
      });
    }
    expect(() => send(reopened, 0)).toThrow(OutOfOrderSequenceError);
    expect(send(reopened, 12)).toMatchObject({ isDuplicate: false, firstOffset: 25n });
    await again.close();
  });

  it('is remembered after a kill without batches of an older epoch, or before a gap', async () => {
    const { log, dir, disk, clock, config } = await newMemoryLog();
    send(log, 0);
    send(log, 2);
    send(log, 0, 2, { epoch: 1 });
    send(log, 4711, 2, { id: 2n });
    const before = log.producers();
    const killed = disk.afterKill();
    await dir.close();
    const again = await openMemoryDir({ disk: killed, clock, config });
    expect((again.log('t', 0) as Log).producers()).toEqual(before);
    await again.close();
  });

  it('is forgotten after producer.id.expiration.ms, unless its transaction is open', async () => {
    const { log, clock, dir } = await newMemoryLog({
      'message.timestamp.after.max.ms': '9223372036854775807',
    });
    send(log, 0);
    send(log, 0, 1, { id: 2n, isTransactional: true });
    clock.advance(86_399_999);
    expect(dir.expireProducers()).toBe(0);
    clock.advance(1);
    expect(dir.expireProducers()).toBe(1);
    expect(log.producers().map((one) => one.producerId)).toEqual([2n]);
    expect(send(log, 77).firstOffset).toBe(3n);
  });

  it('survives snapshots that are corrupt, cut, empty or missing', async () => {
    for (const damage of ['flip', 'cut', 'empty', 'missing'] as const) {
      const { log, disk, clock, dir, config } = await newMemoryLog({
        'internal.segment.bytes': '300',
      });
      for (let i = 0; i < 8; i++) send(log, i * 2);
      await dir.close();
      for (const { name } of disk.list(`${ROOT}/t-0`)) {
        if (!name.endsWith('.snapshot')) continue;
        const file = `${ROOT}/t-0/${name}`;
        const content = disk.readFile(file);
        if (damage === 'flip') content[20] = (content[20] ?? 0) ^ 1;
        if (damage === 'missing') disk.unlink(file);
        else
          disk.writeFile(
            file,
            damage === 'cut'
              ? content.subarray(0, 20)
              : damage === 'empty'
                ? Buffer.alloc(0)
                : content,
          );
      }
      // Without any snapshot a clean start would take it that there were no producers.
      disk.unlink(`${ROOT}/.kafka_cleanshutdown`);
      const again = await openMemoryDir({ disk, clock, config });
      expect(send(again.log('t', 0) as Log, 14), damage).toMatchObject({ isDuplicate: true });
      await again.close();
    }
  });
});

describe('a transaction', () => {
  it('holds the last stable offset back until its marker', async () => {
    const { log } = await newMemoryLog();
    send(log, 0, 2, { isTransactional: true });
    send(log, 0, 1, { id: 2n, isTransactional: true });
    log.appendAsLeader(plainBatch(3));
    expect(log.lastStableOffset).toBe(0n);
    expect(log.read(0n, 1000, { isolation: 'readCommitted' }).records.length).toBe(0);
    mark(log, 'abort');
    expect(log.lastStableOffset).toBe(2n);
    const read = log.read(0n, 1000, { isolation: 'readCommitted' });
    expect(read.abortedTransactions).toEqual([
      { producerId: 1n, firstOffset: 0n, lastOffset: 6n, lastStableOffset: 2n },
    ]);
    mark(log, 'commit', 2n);
    expect(log.lastStableOffset).toBe(8n);
  });

  it('that is aborted across segments is told to readers of any of them', async () => {
    const { log } = await newMemoryLog({ 'internal.segment.bytes': '180' });
    for (let i = 0; i < 4; i++) send(log, i * 2, 2, { isTransactional: true });
    mark(log, 'abort');
    log.appendAsLeader(plainBatch(2));
    expect(log.segments.length).toBeGreaterThan(2);
    for (let offset = 0n; offset < 8n; offset++) {
      const read = log.read(offset, 100, { isolation: 'readCommitted' });
      expect(read.abortedTransactions?.length, `from ${String(offset)}`).toBe(1);
    }
    expect(log.read(9n, 100, { isolation: 'readCommitted' }).abortedTransactions).toEqual([]);
  });

  it('refuses plain writes of its producer, old coordinators and old epochs', async () => {
    const { log } = await newMemoryLog();
    send(log, 0, 1, { isTransactional: true });
    expect(() => send(log, 1, 1)).toThrow(InvalidTxnStateError);
    mark(log, 'commit', 1n, 0, 5);
    expect(() => {
      mark(log, 'abort', 1n, 0, 4);
    }).toThrow(CoordinatorFencedError);
    mark(log, 'abort', 1n, 3, 5);
    expect(() => send(log, 1, 1, { epoch: 2, isTransactional: true })).toThrow(
      InvalidProducerEpochError,
    );
    // A marker of a newer epoch fences; that epoch then starts at 0.
    expect(send(log, 0, 1, { epoch: 3, isTransactional: true }).firstOffset).toBe(3n);
  });

  it('without data leaves no entry', async () => {
    const { log } = await newMemoryLog();
    mark(log, 'abort');
    expect(log.segments[0]?.txnIndex.entries()).toEqual([]);
    expect(log.lastStableOffset).toBe(1n);
  });

  it('is found open again after a restart', async () => {
    const { log, dir, disk, clock, config } = await newMemoryLog();
    log.appendAsLeader(plainBatch(2));
    send(log, 0, 2, { isTransactional: true });
    const killed = disk.afterKill();
    await dir.close();
    for (const found of [disk, killed]) {
      const again = await openMemoryDir({ disk: found, clock, config });
      const reopened = again.log('t', 0) as Log;
      expect(reopened.lastStableOffset).toBe(2n);
      mark(reopened, 'abort');
      expect(reopened.lastStableOffset).toBe(5n);
      await again.close();
    }
  });

  it('whose start was deleted holds the last stable offset at the log start', async () => {
    const { log } = await newMemoryLog();
    send(log, 0, 4, { isTransactional: true });
    log.appendAsLeader(plainBatch(2));
    await log.deleteRecords(2n);
    expect(log.lastStableOffset).toBe(2n);
    mark(log, 'abort');
    expect(log.lastStableOffset).toBe(7n);
  });
});
