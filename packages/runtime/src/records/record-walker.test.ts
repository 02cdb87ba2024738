import { BatchBuilder, crc32c, encodeControlBatch } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import type { AbortedTransaction, FetchedPartition } from '../client/ports.ts';
import { DeserializationError } from '../errors.ts';
import { encodeBatch } from '../testing-support/fake-log.ts';
import { countRecords } from './count-records.ts';
import { RecordWalker } from './record-walker.ts';

function chunk(
  records: Buffer,
  nextOffset: bigint,
  abortedTransactions: readonly AbortedTransaction[] = [],
): FetchedPartition {
  return {
    topic: 't',
    partition: 3,
    records,
    abortedTransactions,
    highWatermark: nextOffset,
    lastStableOffset: nextOffset,
    logStartOffset: 0n,
    nextOffset,
    error: null,
  };
}

function batch(base: bigint, values: readonly string[], options = {}): Buffer {
  return encodeBatch(
    values.map((value) => ({ key: 'k', value, timestamp: 5 })),
    { baseOffset: base, ...options },
  );
}

function drain(walker: RecordWalker): string[] {
  const seen: string[] = [];
  while (walker.next()) {
    seen.push(`${String(walker.cursor.offset())}:${String(walker.cursor.value()?.toString())}`);
  }
  return seen;
}

function failure(walker: RecordWalker): DeserializationError {
  try {
    walker.next();
  } catch (error) {
    expect(error).toBeInstanceOf(DeserializationError);
    return error as DeserializationError;
  }
  throw new Error('expected an error');
}

const transaction = { producerId: 9n, producerEpoch: 0, baseSequence: 0, isTransactional: true };

function marker(base: bigint, type: 'abort' | 'commit', producerId = 9n): Buffer {
  return encodeControlBatch({
    baseOffset: base,
    producerId,
    producerEpoch: 0,
    type,
    coordinatorEpoch: 0,
    timestamp: 5,
    leaderEpoch: 0,
  });
}

describe('RecordWalker', () => {
  it('walks the records of several batches and responses in order', () => {
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(Buffer.concat([batch(0n, ['a', 'b']), batch(2n, ['c'])]), 3n));
    walker.push(chunk(batch(3n, ['d']), 4n));
    expect(walker.bufferedRecords).toBe(4);
    expect(drain(walker)).toEqual(['0:a', '1:b', '2:c', '3:d']);
    expect(walker.position).toBe(4n);
    expect(walker.bufferedBytes).toBe(0);
    expect(walker.bufferedRecords).toBe(0);
  });

  it('starts inside of a batch', () => {
    const walker = new RecordWalker('t', 3, 2n);
    walker.push(chunk(batch(0n, ['a', 'b', 'c', 'd']), 4n));
    expect(drain(walker)).toEqual(['2:c', '3:d']);
  });

  it('passes over holes, empty and control batches, and its position with it', () => {
    const empty = new BatchBuilder({ codec: 'none', maxBytes: 1024 });
    const kept = Buffer.from(empty.build({ baseOffset: 4n, lastOffsetDelta: 5 }));
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(Buffer.concat([batch(0n, ['a']), kept, marker(10n, 'commit')]), 11n));
    expect(drain(walker)).toEqual(['0:a']);
    expect(walker.position).toBe(11n);
  });

  it('takes an empty response for its next offset', () => {
    const walker = new RecordWalker('t', 3, 5n);
    walker.push(chunk(Buffer.alloc(0), 8n));
    expect(walker.next()).toBe(false);
    expect(walker.position).toBe(8n);
  });

  it('hides aborted transactions from their first offset to their marker, per producer', () => {
    const walker = new RecordWalker('t', 3, 0n);
    const other = { ...transaction, producerId: 4n };
    walker.push(
      chunk(
        Buffer.concat([
          batch(0n, ['committed before'], transaction),
          marker(1n, 'commit'),
          batch(2n, ['aborted'], transaction),
          batch(3n, ['other'], other),
          batch(4n, ['plain']),
          batch(5n, ['aborted'], transaction),
          marker(6n, 'abort'),
          batch(7n, ['committed after'], transaction),
          marker(8n, 'commit'),
          marker(9n, 'commit', 4n),
        ]),
        10n,
        // Unsorted, as a broker may send them.
        [
          { producerId: 77n, firstOffset: 5n },
          { producerId: 9n, firstOffset: 2n },
        ],
      ),
    );
    expect(drain(walker)).toEqual([
      '0:committed before',
      '3:other',
      '4:plain',
      '7:committed after',
    ]);
    expect(walker.position).toBe(10n);
  });

  it('names topic, partition and offset of a batch whose CRC is wrong, and can skip it', () => {
    const broken = batch(2n, ['x', 'y']);
    broken[broken.length - 1] = (broken[broken.length - 1] as number) ^ 0xff;
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(Buffer.concat([batch(0n, ['a', 'b']), broken, batch(4n, ['c'])]), 5n));
    expect(walker.next() && walker.next()).toBe(true);
    const error = failure(walker);
    expect(error.message).toMatch(/t-3 at offset 2.*CRC/i);
    expect(error.context).toEqual({ topic: 't', partition: 3, offset: 2n });
    // It stands before the batch until it is told to go on.
    expect(failure(walker).context['offset']).toBe(2n);
    expect(walker.skipBroken()).toBe(2);
    expect(drain(walker)).toEqual(['4:c']);
    expect(walker.position).toBe(5n);
  });

  it('reports a codec that nobody knows', () => {
    const unknown = batch(0n, ['x']);
    unknown.writeInt16BE(5, 21);
    const crcFixed = recompute(unknown);
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(Buffer.concat([crcFixed, batch(1n, ['fine'])]), 2n));
    expect(failure(walker).message).toMatch(/t-3 at offset 0.*codec/i);
    walker.skipBroken();
    expect(drain(walker)).toEqual(['1:fine']);
  });

  it('gives up the rest of a response whose lengths make no sense', () => {
    const nonsense = batch(1n, ['x']);
    nonsense.writeInt32BE(-5, 8);
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(Buffer.concat([batch(0n, ['a']), nonsense]), 9n));
    walker.push(chunk(batch(9n, ['later']), 10n));
    expect(walker.next()).toBe(true);
    expect(failure(walker).context['offset']).toBe(1n);
    walker.skipBroken();
    expect(walker.position).toBe(9n);
    expect(drain(walker)).toEqual(['9:later']);
  });

  it('reports a record that does not fit into its batch, where it is', () => {
    const damaged = batch(0n, ['aaaa', 'bbbb', 'cccc']);
    // The length of the second record.
    const first = 61;
    const secondStart = first + 1 + ((damaged[first] as number) >> 1);
    damaged[secondStart] = 0x7e;
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(Buffer.concat([recompute(damaged), batch(3n, ['next'])]), 4n));
    expect(walker.next()).toBe(true);
    expect(failure(walker).message).toContain('t-3 at offset');
    expect(walker.skipBroken()).toBeGreaterThanOrEqual(1);
    expect(drain(walker)).toEqual(['3:next']);
  });

  it('ends quietly at a cut last batch', () => {
    const whole = batch(0n, ['a']);
    const cut = batch(1n, ['b']).subarray(0, 40);
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(Buffer.concat([whole, cut]), 1n));
    expect(drain(walker)).toEqual(['0:a']);
    expect(walker.position).toBe(1n);
  });

  it('refuses a batch that grows beyond its bound when it is decompressed', () => {
    const builder = new BatchBuilder({ codec: 'gzip', maxBytes: 4 * 1024 * 1024 });
    builder.appendBytes(1, null, Buffer.alloc(1_000_000), null);
    const walker = new RecordWalker('t', 3, 0n, { maxDecompressedBytes: 100_000 });
    walker.push(chunk(Buffer.from(builder.build()), 1n));
    expect(failure(walker).message).toMatch(/t-3 at offset 0/);
  });

  it('keeps exact offsets beyond 2^53', () => {
    const base = 2n ** 60n;
    const walker = new RecordWalker('t', 3, base + 1n);
    walker.push(chunk(batch(base, ['a', 'b']), base + 2n));
    expect(drain(walker)).toEqual([`${String(base + 1n)}:b`]);
  });

  it('drops what waits when it moves', () => {
    const walker = new RecordWalker('t', 3, 0n);
    walker.push(chunk(batch(0n, ['a', 'b']), 2n));
    walker.next();
    walker.seek(50n);
    expect(walker.next()).toBe(false);
    expect(walker.position).toBe(50n);
    walker.push(chunk(batch(50n, ['z']), 51n));
    expect(drain(walker)).toEqual(['50:z']);
  });

  it('counts records from headers, and stops at nonsense', () => {
    expect(countRecords(Buffer.concat([batch(0n, ['a', 'b']), batch(2n, ['c'])]))).toBe(3);
    expect(countRecords(Buffer.alloc(200))).toBe(0);
    expect(countRecords(Buffer.alloc(10))).toBe(0);
  });
});

/** The same batch with a right CRC, so that only its content is wrong. */
function recompute(batchBytes: Buffer): Buffer {
  const copy = Buffer.from(batchBytes);
  copy.writeUInt32BE(crc32c(copy, 21, copy.length), 17);
  return copy;
}
