import { crc32c } from '@millrace/protocol';
import { CorruptSnapshotError } from '../errors.ts';
import { decrementSequence, NO_OFFSET, ProducerEntry } from './producer-entry.ts';

const VERSION = 1;
const CRC_AT = 2;
const ENTRIES_AT = 6;
const HEADER_BYTES = 10;
const ENTRY_BYTES = 46;

/** The content of a `.snapshot` file: Kafka's version 1. */
export function encodeSnapshot(entries: Iterable<ProducerEntry>): Buffer {
  const all = [...entries];
  const bytes = Buffer.alloc(HEADER_BYTES + all.length * ENTRY_BYTES);
  bytes.writeInt16BE(VERSION, 0);
  bytes.writeInt32BE(all.length, ENTRIES_AT);
  let at = HEADER_BYTES;
  for (const entry of all) {
    const last = entry.lastBatch;
    bytes.writeBigInt64BE(entry.producerId, at);
    bytes.writeInt16BE(entry.producerEpoch, at + 8);
    bytes.writeInt32BE(entry.lastSequence, at + 10);
    bytes.writeBigInt64BE(last?.lastOffset ?? NO_OFFSET, at + 14);
    bytes.writeInt32BE(last ? Number(last.lastOffset - last.firstOffset) : 0, at + 22);
    bytes.writeBigInt64BE(BigInt(entry.lastTimestamp), at + 26);
    bytes.writeInt32BE(entry.coordinatorEpoch, at + 34);
    bytes.writeBigInt64BE(entry.currentTxnFirstOffset, at + 38);
    at += ENTRY_BYTES;
  }
  bytes.writeUInt32BE(crc32c(bytes, ENTRIES_AT, bytes.length), CRC_AT);
  return bytes;
}

/** Throws CorruptSnapshotError, so that the one before it is tried. */
export function decodeSnapshot(bytes: Buffer, path: string): ProducerEntry[] {
  if (bytes.length < HEADER_BYTES) throw new CorruptSnapshotError(`${path}: cut`);
  const version = bytes.readInt16BE(0);
  if (version !== VERSION) {
    throw new CorruptSnapshotError(`${path}: version ${String(version)} is not known`);
  }
  if (bytes.readUInt32BE(CRC_AT) !== crc32c(bytes, ENTRIES_AT, bytes.length)) {
    throw new CorruptSnapshotError(`${path}: the CRC does not match`);
  }
  const count = bytes.readInt32BE(ENTRIES_AT);
  if (bytes.length !== HEADER_BYTES + count * ENTRY_BYTES) {
    throw new CorruptSnapshotError(
      `${path}: ${String(count)} entries do not make ${String(bytes.length)} bytes`,
    );
  }
  const entries: ProducerEntry[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; at += ENTRY_BYTES) {
    const entry = new ProducerEntry(bytes.readBigInt64BE(at));
    entry.producerEpoch = bytes.readInt16BE(at + 8);
    entry.lastTimestamp = Number(bytes.readBigInt64BE(at + 26));
    entry.coordinatorEpoch = bytes.readInt32BE(at + 34);
    entry.currentTxnFirstOffset = bytes.readBigInt64BE(at + 38);
    const lastSequence = bytes.readInt32BE(at + 10);
    const lastOffset = bytes.readBigInt64BE(at + 14);
    const offsetDelta = bytes.readInt32BE(at + 22);
    if (lastOffset >= 0n) {
      entry.batches = [
        {
          firstSequence: decrementSequence(lastSequence, offsetDelta),
          lastSequence,
          firstOffset: lastOffset - BigInt(offsetDelta),
          lastOffset,
          timestamp: entry.lastTimestamp,
        },
      ];
    }
    entries.push(entry);
  }
  return entries;
}
