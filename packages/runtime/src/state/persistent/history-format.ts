import { readTimestamp, writeTimestamp } from '../../serdes/windowed.ts';
import type { ValueCodec } from '../memory/value-codec.ts';
import { VersionHistory } from '../memory/version-history.ts';
import type { ReadValue } from './row-format.ts';

const COUNT_BYTES = 4;
const FLAGS_BYTES = 1;
const TIMESTAMP_BYTES = 8;
const LENGTH_BYTES = 4;
const TOMBSTONE_LENGTH = -1;
const LATEST_IS_BOUND = 1;

/**
 * A key's history on disk: int32 number of versions, a byte of flags (1: `isLatestBound`), then per
 * version, oldest first, int64 timestamp, int32 length of the value (-1: tombstone) and its bytes.
 */
export class HistoryFormat<V> {
  readonly #values: ValueCodec<V>;
  readonly #read: ReadValue = { stored: null, timestamp: -1 };

  constructor(values: ValueCodec<V>) {
    this.#values = values;
  }

  /** Returns the end, or -1 if `target` is too small. */
  write(stored: unknown, _timestamp: number, target: Buffer, position: number): number {
    const history = stored as VersionHistory;
    const { timestamps } = history;
    let end = position + COUNT_BYTES + FLAGS_BYTES;
    if (end > target.length) return -1;
    target.writeInt32BE(timestamps.length, position);
    target[position + COUNT_BYTES] = history.isLatestBound ? LATEST_IS_BOUND : 0;
    for (let i = 0; i < timestamps.length; i++) {
      const start = end + TIMESTAMP_BYTES + LENGTH_BYTES;
      if (start > target.length) return -1;
      const lengthAt = writeTimestamp(timestamps[i] as number, target, end);
      const value = history.stored[i];
      end = value === null ? start : this.#values.storedSerde.write(value, target, start);
      if (end < 0) return -1;
      target.writeInt32BE(value === null ? TOMBSTONE_LENGTH : end - start, lengthAt);
    }
    return end;
  }

  /** Nothing of `source` is kept. */
  read(source: Buffer): ReadValue {
    const history = new VersionHistory();
    const count = source.readInt32BE(0);
    history.isLatestBound = source[COUNT_BYTES] === LATEST_IS_BOUND;
    let end = COUNT_BYTES + FLAGS_BYTES;
    for (let i = 0; i < count; i++) {
      const lengthAt = end + TIMESTAMP_BYTES;
      const start = lengthAt + LENGTH_BYTES;
      const length = source.readInt32BE(lengthAt);
      history.timestamps.push(readTimestamp(source, end));
      end = start + Math.max(0, length);
      history.stored.push(length < 0 ? null : this.#values.storedSerde.read(source, start, end));
    }
    this.#read.stored = history;
    return this.#read;
  }
}
