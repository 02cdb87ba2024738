import { BatchBuilder, RecordBatch, type Codec } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import {
  CorruptBatchError,
  InvalidRecordError,
  InvalidTimestampError,
  RecordBatchTooLargeError,
  RecordTooLargeError,
  UnsupportedCompressionError,
} from '../errors.ts';
import { batchOf, markerBatch, plainBatch, T0 } from '../testing/batches.ts';
import { newMemoryLog, readAll } from '../testing/memory-log-dir.ts';

const HOUR = 3_600_000;

describe('what a leader refuses', () => {
  it('a record without a key on a compacted topic, naming each', async () => {
    const { log } = await newMemoryLog({ 'cleanup.policy': 'compact' });
    const batch = batchOf([{ value: 'a' }, { key: null, value: 'b' }, { key: null, value: 'c' }]);
    let error: unknown;
    try {
      log.appendAsLeader(batch);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(InvalidRecordError);
    expect((error as InvalidRecordError).recordErrors.map((one) => one.batchIndex)).toEqual([1, 2]);
    expect((error as InvalidRecordError).kafkaError).toBe('INVALID_RECORD');
    expect((error as Error).message).toContain('t-0');
    expect(log.logEndOffset).toBe(0n);
  });

  it('a CRC that does not match, for every codec', async () => {
    const { log } = await newMemoryLog();
    for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as Codec[]) {
      const batch = plainBatch(5, { codec });
      batch[batch.length - 1] = (batch.at(-1) ?? 0) ^ 1;
      expect(() => log.appendAsLeader(batch)).toThrow(CorruptBatchError);
    }
  });

  it('several batches, a cut one, nothing at all, and bytes after it', async () => {
    const { log } = await newMemoryLog();
    const one = plainBatch(2);
    expect(() => log.appendAsLeader(Buffer.concat([one, plainBatch(2)]))).toThrow(
      InvalidRecordError,
    );
    expect(() => log.appendAsLeader(Buffer.concat([plainBatch(2), Buffer.alloc(3)]))).toThrow(
      InvalidRecordError,
    );
    expect(() => log.appendAsLeader(plainBatch(2).subarray(0, 70))).toThrow(CorruptBatchError);
    expect(() => log.appendAsLeader(Buffer.alloc(0))).toThrow(CorruptBatchError);
    expect(log.logEndOffset).toBe(0n);
  });

  it('control batches from clients', async () => {
    const { log } = await newMemoryLog();
    expect(() => log.appendAsLeader(markerBatch('commit', 1n))).toThrow(InvalidRecordError);
  });

  it('a count that does not fit the offsets, no records, and a base offset', async () => {
    const { log } = await newMemoryLog();
    expect(() => log.appendAsLeader(plainBatch(3, { lastOffsetDelta: 5 }))).toThrow(/delta 5/);
    expect(() => log.appendAsLeader(batchOf([]))).toThrow(/without records/);
    expect(() => log.appendAsLeader(plainBatch(3, { baseOffset: 7n }))).toThrow(/offset 0/);
  });

  it('a producer id without sequence', async () => {
    const { log } = await newMemoryLog();
    expect(() => log.appendAsLeader(plainBatch(1, { producerId: 4n, producerEpoch: 0 }))).toThrow(
      InvalidRecordError,
    );
  });

  it('timestamps outside the bounds, and takes those at them', async () => {
    const { log } = await newMemoryLog({
      'message.timestamp.before.max.ms': String(HOUR),
      'message.timestamp.after.max.ms': String(HOUR),
    });
    for (const timestamp of [T0 - HOUR - 1, T0 + HOUR + 1]) {
      expect(() => log.appendAsLeader(plainBatch(1, { timestamp }))).toThrow(InvalidTimestampError);
    }
    for (const timestamp of [T0 - HOUR, T0 + HOUR, -1])
      log.appendAsLeader(plainBatch(1, { timestamp }));
    expect(log.logEndOffset).toBe(3n);
  });

  it('a batch above max.message.bytes or segment.bytes', async () => {
    const { log } = await newMemoryLog({ 'max.message.bytes': '200' });
    expect(() => log.appendAsLeader(plainBatch(50))).toThrow(RecordTooLargeError);
    const other = await newMemoryLog({ 'internal.segment.bytes': '200' });
    expect(() => other.log.appendAsLeader(plainBatch(50))).toThrow(RecordBatchTooLargeError);
  });

  it('an unknown codec, with its own error', async () => {
    const { log } = await newMemoryLog();
    const batch = plainBatch(1);
    batch.writeInt16BE(7, 21);
    const view = new RecordBatch(batch);
    // The CRC has to be right, or that is what is found.
    view.setMaxTimestamp('createTime', T0 + 1);
    expect(() => log.appendAsLeader(batch)).toThrow(UnsupportedCompressionError);
  });

  it('a batch that decompresses beyond max.decompressed.message.bytes', async () => {
    const { log } = await newMemoryLog({ 'max.decompressed.message.bytes': '1000' });
    const batch = batchOf([{ value: 'x'.repeat(100_000) }], { codec: 'zstd' });
    expect(batch.length).toBeLessThan(1000);
    expect(() => log.appendAsLeader(batch)).toThrow(/1000/);
  });
});

describe('what a leader makes of a batch', () => {
  it('assigns offsets and epoch in place, for every codec', async () => {
    const { log } = await newMemoryLog();
    for (const codec of ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as Codec[]) {
      log.appendAsLeader(plainBatch(4, { codec }), { leaderEpoch: 3 });
    }
    expect(readAll(log).map((one) => one.offset)).toEqual(
      Array.from({ length: 20 }, (_, i) => BigInt(i)),
    );
    const batch = new RecordBatch(log.read(8n, 1 << 20).records);
    expect(batch.partitionLeaderEpoch).toBe(3);
    expect(batch.codec).toBe('snappy');
  });

  it('stamps LogAppendTime without rewriting records', async () => {
    const { log } = await newMemoryLog({ 'message.timestamp.type': 'LogAppendTime' });
    const result = log.appendAsLeader(plainBatch(3, { timestamp: 5 }));
    expect(result.logAppendTime).toBe(T0);
    expect(readAll(log).map((one) => one.timestamp)).toEqual([T0, T0, T0]);
  });

  it('corrects a max timestamp that its records do not have', async () => {
    const { log } = await newMemoryLog();
    log.appendAsLeader(plainBatch(3, { maxTimestamp: T0 + 500 }));
    const batch = new RecordBatch(log.read(0n, 1000).records);
    expect(batch.maxTimestamp).toBe(T0);
    expect(batch.isValid()).toBe(true);
  });

  it('recompresses to the codec of the topic and keeps the rest', async () => {
    for (const target of ['uncompressed', 'gzip', 'snappy', 'lz4', 'zstd']) {
      const { log } = await newMemoryLog({ 'compression.type': target });
      for (const codec of ['none', 'zstd'] as Codec[]) {
        const builder = new BatchBuilder({ codec, maxBytes: 1 << 20 });
        for (let i = 0; i < 5; i++)
          builder.appendBytes(T0 + i, Buffer.from('k'), Buffer.from(`v${String(i)}`), null);
        const first = log.logEndOffset;
        log.appendAsLeader(
          Buffer.from(
            builder.build({ producerId: 9n, producerEpoch: 2, baseSequence: Number(first) }),
          ),
          { leaderEpoch: 4 },
        );
        const batch = new RecordBatch(log.read(first, 1 << 20).records);
        expect(batch.isValid()).toBe(true);
        expect(batch.codec).toBe(target === 'uncompressed' ? 'none' : target);
        expect(batch.producerId).toBe(9n);
        expect(batch.baseSequence).toBe(Number(first));
        expect(batch.partitionLeaderEpoch).toBe(4);
        expect(batch.maxTimestamp).toBe(T0 + 4);
      }
      expect(readAll(log).map((one) => one.timestamp - T0)).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    }
  });
});
