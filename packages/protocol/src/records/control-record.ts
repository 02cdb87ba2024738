import { CorruptRecordError } from '../bytes/protocol-error.ts';
import { BatchBuilder } from './batch-builder.ts';
import type { RecordCursor } from './record-cursor.ts';

export interface ControlRecord {
  /** `other`: not about a transaction (leader change, snapshot, ...); consumers skip it. */
  readonly type: 'abort' | 'commit' | 'other';
  readonly typeCode: number;
  readonly version: number;
  /** Of the transaction coordinator that wrote the marker; -1 for `other`. */
  readonly coordinatorEpoch: number;
}

export interface ControlBatchOptions {
  readonly baseOffset: bigint;
  readonly producerId: bigint;
  readonly producerEpoch: number;
  readonly type: 'abort' | 'commit';
  readonly coordinatorEpoch: number;
  /** Epoch ms. */
  readonly timestamp: number;
  readonly leaderEpoch: number;
}

const ABORT = 0;
const COMMIT = 1;
const CONTROL_KEY_BYTES = 4;
const MARKER_VALUE_BYTES = 6;
/** Version 0 of both the control key and the marker's value. */
const VERSION = 0;

/** Reads the control record that the cursor stands on (KIP-98). Throws CorruptRecordError. */
export function readControlRecord(cursor: RecordCursor): ControlRecord {
  const { buffer, keyStart, keyEnd, valueStart, valueEnd } = cursor;
  if (keyStart === -1 || keyEnd - keyStart < CONTROL_KEY_BYTES) {
    throw corrupt(cursor, `its key has ${keyEnd - keyStart} bytes instead of 4`);
  }
  const version = buffer.readInt16BE(keyStart);
  if (version < 0) throw corrupt(cursor, `its key has version ${version}`);
  const typeCode = buffer.readInt16BE(keyStart + 2);
  if (typeCode !== ABORT && typeCode !== COMMIT) {
    return { type: 'other', typeCode, version, coordinatorEpoch: -1 };
  }
  if (valueStart === -1 || valueEnd - valueStart < MARKER_VALUE_BYTES) {
    throw corrupt(cursor, `its value has ${valueEnd - valueStart} bytes instead of 6`);
  }
  const valueVersion = buffer.readInt16BE(valueStart);
  if (valueVersion < 0) throw corrupt(cursor, `its value has version ${valueVersion}`);
  const coordinatorEpoch = buffer.readInt32BE(valueStart + 2);
  return { type: typeCode === COMMIT ? 'commit' : 'abort', typeCode, version, coordinatorEpoch };
}

/** A batch with one transaction marker, as a transaction coordinator has a leader write it. */
export function encodeControlBatch(options: ControlBatchOptions): Buffer {
  const key = Buffer.alloc(CONTROL_KEY_BYTES);
  key.writeInt16BE(VERSION, 0);
  key.writeInt16BE(options.type === 'commit' ? COMMIT : ABORT, 2);
  const value = Buffer.alloc(MARKER_VALUE_BYTES);
  value.writeInt16BE(VERSION, 0);
  value.writeInt32BE(options.coordinatorEpoch, 2);
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 128, initialBytes: 128 });
  builder.appendBytes(options.timestamp, key, value, null);
  return builder.build({
    baseOffset: options.baseOffset,
    leaderEpoch: options.leaderEpoch,
    producerId: options.producerId,
    producerEpoch: options.producerEpoch,
    isTransactional: true,
    isControl: true,
  });
}

function corrupt(cursor: RecordCursor, what: string): CorruptRecordError {
  return new CorruptRecordError(`the control record at offset ${cursor.offset()}: ${what}`);
}
