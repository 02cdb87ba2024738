import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BatchIterator,
  readControlRecord,
  RecordCursor,
  type RecordBatch,
} from '@millrace/protocol';
import type { DumpedBatch, DumpedSegment } from './requests.ts';

const BASE_TIMESTAMP_AT = 27;
const ABORTED_ENTRY_BYTES = 34;
const EXTENSION_LENGTH = '.log'.length;

/** Every batch and record on disk, as the oracle's `dump` shows them. */
export function dumpSegments(directory: string): DumpedSegment[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.log'))
    .sort()
    .map((name) => {
      const stem = join(directory, name.slice(0, -EXTENSION_LENGTH));
      const bytes = readFileSync(`${stem}.log`);
      return {
        base: Number(name.slice(0, -EXTENSION_LENGTH)),
        size: bytes.length,
        batches: batchesIn(bytes),
        abortedTxns: abortedIn(`${stem}.txnindex`),
      };
    });
}

function batchesIn(bytes: Buffer): DumpedBatch[] {
  const batches = new BatchIterator(bytes);
  const dumped: DumpedBatch[] = [];
  for (let batch = batches.next(); batch; batch = batches.next()) dumped.push(dumpBatch(batch));
  return dumped;
}

function dumpBatch(batch: RecordBatch): DumpedBatch {
  const records: object[] = [];
  const cursor = new RecordCursor();
  cursor.open(batch);
  while (cursor.next()) records.push(dumpRecord(cursor));
  return {
    position: batch.position,
    size: batch.sizeInBytes,
    magic: batch.magic,
    baseOffset: Number(batch.baseOffset),
    lastOffset: Number(batch.lastOffset),
    count: batch.recordCount,
    crc: batch.crc,
    crcOk: batch.isValid(),
    codec: batch.codec,
    timestampType: batch.timestampType === 'createTime' ? 'CreateTime' : 'LogAppendTime',
    producerId: Number(batch.producerId),
    producerEpoch: batch.producerEpoch,
    baseSequence: batch.baseSequence,
    leaderEpoch: batch.partitionLeaderEpoch,
    transactional: batch.isTransactional,
    control: batch.isControl,
    deleteHorizonMs: batch.deleteHorizonMs,
    baseTimestamp: Number(batch.buffer.readBigInt64BE(batch.position + BASE_TIMESTAMP_AT)),
    maxTimestamp: batch.maxTimestamp,
    records,
  };
}

function dumpRecord(cursor: RecordCursor): object {
  const headers = cursor.headers().toArray();
  const record = {
    offset: Number(cursor.offset()),
    timestamp: cursor.timestamp,
    key: cursor.key()?.toString('hex') ?? null,
    value: cursor.value()?.toString('hex') ?? null,
    ...(headers.length > 0
      ? { headers: headers.map(({ key, value }) => [key, value?.toString('hex') ?? null]) }
      : {}),
  };
  if (!cursor.isControl) return record;
  const { type, coordinatorEpoch } = readControlRecord(cursor);
  return { ...record, controlType: type.toUpperCase(), coordinatorEpoch };
}

function abortedIn(file: string): object[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const entries: object[] = [];
  for (let at = 0; at < bytes.length; at += ABORTED_ENTRY_BYTES) {
    entries.push({
      producerId: Number(bytes.readBigInt64BE(at + 2)),
      firstOffset: Number(bytes.readBigInt64BE(at + 10)),
      lastOffset: Number(bytes.readBigInt64BE(at + 18)),
      lastStableOffset: Number(bytes.readBigInt64BE(at + 26)),
    });
  }
  return entries;
}
