import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BatchBuilder } from './batch-builder.ts';
import type { TimestampType } from './batch-format.ts';
import { encodeControlBatch, readControlRecord } from './control-record.ts';
import { RecordHeaders } from './headers.ts';
import { RecordBatch } from './record-batch.ts';
import { RecordCursor } from './record-cursor.ts';

/** A batch that Kafka's own classes wrote, with what they read from it. */
interface KafkaBatch {
  readonly name: string;
  readonly codec: 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
  readonly baseOffset: string;
  readonly lastOffset: string;
  readonly leaderEpoch: number;
  readonly timestampType: TimestampType;
  readonly maxTimestamp: number;
  readonly producerId: string;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly lastSequence: number;
  readonly isTransactional: boolean;
  readonly isControl: boolean;
  readonly deleteHorizonMs: number | null;
  readonly crc: number;
  readonly recordCount: number;
  readonly records: readonly KafkaRecord[];
  readonly bytes: string;
}

interface KafkaRecord {
  readonly offset: string;
  readonly timestamp: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: readonly (readonly [string, string | null])[];
}

const { batches } = JSON.parse(
  readFileSync(new URL('./fixtures/kafka-batches.json', import.meta.url), 'utf8'),
) as { readonly batches: readonly KafkaBatch[] };

function named(name: string): KafkaBatch {
  const found = batches.find((batch) => batch.name === name);
  if (found === undefined) throw new Error(`no fixture is named ${name}`);
  return found;
}

function batchOf(fixture: KafkaBatch): RecordBatch {
  // Not at the start of its buffer, so that no position is taken for an offset into it.
  return new RecordBatch(Buffer.concat([Buffer.alloc(5), Buffer.from(fixture.bytes, 'hex')]), 5);
}

function hex(bytes: Buffer | null): string | null {
  return bytes === null ? null : bytes.toString('hex');
}

function unhex(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text, 'hex');
}

function readAll(batch: RecordBatch): KafkaRecord[] {
  const cursor = new RecordCursor();
  cursor.open(batch);
  const records: KafkaRecord[] = [];
  while (cursor.next()) {
    records.push({
      offset: String(cursor.offset()),
      timestamp: cursor.timestamp,
      key: hex(cursor.key()),
      value: hex(cursor.value()),
      headers: cursor
        .headers()
        .toArray()
        .map((header) => [header.key, hex(header.value)] as const),
    });
  }
  return records;
}

describe('batches that Kafka wrote', () => {
  it('cover every codec', () => {
    expect(new Set(batches.map((batch) => batch.codec)).size).toBe(5);
  });

  it.each(batches)('reads the header of "$name"', (fixture) => {
    const batch = batchOf(fixture);
    expect(batch.isValid()).toBe(true);
    expect({
      codec: batch.codec,
      baseOffset: String(batch.baseOffset),
      lastOffset: String(batch.lastOffset),
      leaderEpoch: batch.partitionLeaderEpoch,
      timestampType: batch.timestampType,
      maxTimestamp: batch.maxTimestamp,
      producerId: String(batch.producerId),
      producerEpoch: batch.producerEpoch,
      baseSequence: batch.baseSequence,
      lastSequence: batch.lastSequence,
      isTransactional: batch.isTransactional,
      isControl: batch.isControl,
      deleteHorizonMs: batch.deleteHorizonMs,
      crc: batch.crc,
      recordCount: batch.recordCount,
    }).toEqual({
      codec: fixture.codec,
      baseOffset: fixture.baseOffset,
      lastOffset: fixture.lastOffset,
      leaderEpoch: fixture.leaderEpoch,
      timestampType: fixture.timestampType,
      maxTimestamp: fixture.maxTimestamp,
      producerId: fixture.producerId,
      producerEpoch: fixture.producerEpoch,
      baseSequence: fixture.baseSequence,
      lastSequence: fixture.lastSequence,
      isTransactional: fixture.isTransactional,
      isControl: fixture.isControl,
      deleteHorizonMs: fixture.deleteHorizonMs,
      crc: fixture.crc,
      recordCount: fixture.recordCount,
    });
  });

  it.each(batches)('reads the records of "$name"', (fixture) => {
    expect(readAll(batchOf(fixture))).toEqual(fixture.records);
  });

  it.each(batches)('writes the same records as "$name"', (fixture) => {
    const builder = new BatchBuilder({
      codec: fixture.codec,
      maxBytes: 1024 * 1024,
      initialBytes: 64,
    });
    builder.reset(fixture.deleteHorizonMs);
    const baseOffset = BigInt(fixture.baseOffset);
    const cursor = new RecordCursor();
    cursor.open(batchOf(fixture));
    for (const record of fixture.records) {
      // Offsets with holes come from the cursor; without holes both ways are walked.
      cursor.next();
      const isNext = cursor.offsetDelta === builder.recordCount;
      const headers = RecordHeaders.from(
        record.headers.map(([key, value]) => ({ key, value: unhex(value) })),
      );
      const isLogAppendTime = fixture.timestampType === 'logAppendTime';
      if (isNext && !isLogAppendTime) {
        builder.appendBytes(record.timestamp, unhex(record.key), unhex(record.value), headers);
      } else {
        builder.appendFrom(cursor);
      }
    }
    const built = builder.build({
      baseOffset,
      leaderEpoch: fixture.leaderEpoch,
      producerId: BigInt(fixture.producerId),
      producerEpoch: fixture.producerEpoch,
      baseSequence: fixture.baseSequence,
      isTransactional: fixture.isTransactional,
      isControl: fixture.isControl,
      timestampType: fixture.timestampType,
      maxTimestamp: fixture.maxTimestamp,
      lastOffsetDelta: Number(BigInt(fixture.lastOffset) - baseOffset),
    });
    expect(readAll(new RecordBatch(built))).toEqual(fixture.records);
    // Log append time hides the deltas that the bytes hold, so these can only be read back.
    if (fixture.codec === 'none' && fixture.timestampType === 'createTime') {
      expect(built.toString('hex')).toBe(fixture.bytes);
    }
  });

  it('sets a delete horizon after the records were added, to the same bytes', () => {
    const fixture = named('none: delete horizon, offset holes, last offset kept');
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 4096 });
    const cursor = new RecordCursor();
    cursor.open(batchOf(fixture));
    while (cursor.next()) builder.appendFrom(cursor);
    const built = builder.build({
      baseOffset: BigInt(fixture.baseOffset),
      leaderEpoch: fixture.leaderEpoch,
      producerId: BigInt(fixture.producerId),
      producerEpoch: fixture.producerEpoch,
      baseSequence: fixture.baseSequence,
      deleteHorizonMs: fixture.deleteHorizonMs,
      lastOffsetDelta: 99,
    });
    expect(built.toString('hex')).toBe(fixture.bytes);
  });
});

describe('control records', () => {
  it.each(['commit', 'abort'] as const)('reads and writes the %s marker', (type) => {
    const fixture = named(`marker ${type}`);
    const batch = batchOf(fixture);
    const cursor = new RecordCursor();
    cursor.open(batch);
    cursor.next();
    expect(cursor.isControl).toBe(true);
    expect(readControlRecord(cursor)).toEqual({
      type,
      typeCode: type === 'commit' ? 1 : 0,
      version: 0,
      coordinatorEpoch: 31,
    });
    const written = encodeControlBatch({
      baseOffset: batch.baseOffset,
      producerId: batch.producerId,
      producerEpoch: batch.producerEpoch,
      type,
      coordinatorEpoch: 31,
      timestamp: batch.maxTimestamp,
      leaderEpoch: batch.partitionLeaderEpoch,
    });
    expect(written.toString('hex')).toBe(fixture.bytes);
  });

  it('passes by other control records', () => {
    const cursor = new RecordCursor();
    cursor.open(batchOf(named('leader change')));
    cursor.next();
    expect(readControlRecord(cursor)).toMatchObject({ type: 'other', typeCode: 2 });
  });
});
