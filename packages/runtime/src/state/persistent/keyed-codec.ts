import type { KeyCodec } from '../memory/key-codec.ts';
import type { RowCodec } from './layered-table.ts';
import type { ReadValue } from './row-format.ts';

/** How what a row holds looks on disk. */
interface ValueFormat {
  write(stored: unknown, timestamp: number, target: Buffer, position: number): number;
  read(source: Buffer): ReadValue;
}

/** Rows of one key each. */
export function keyedCodec<K>(keys: KeyCodec<K>, format: ValueFormat): RowCodec<K> {
  return {
    mapKey: (key) => keys.mapKey(key),
    sortKey: (key) => keys.latin1(key),
    keyOf(sortKey) {
      const bytes = Buffer.from(sortKey, 'latin1');
      return keys.read(bytes, 0, bytes.length);
    },
    own: (key) => keys.own(key),
    ...valueCodec(format),
  };
}

/** Rows whose keys are their bytes as latin1 strings. */
export function textKeyedCodec(format: ValueFormat): RowCodec<string> {
  return {
    mapKey: (key) => key,
    sortKey: (key) => key,
    keyOf: (sortKey) => sortKey,
    own: (key) => key,
    ...valueCodec(format),
  };
}

function valueCodec(format: ValueFormat): Pick<RowCodec<unknown>, 'write' | 'read'> {
  return {
    write: (stored, timestamp, target, position) =>
      format.write(stored, timestamp, target, position),
    read(source, row) {
      const { stored, timestamp } = format.read(source);
      row.stored = stored;
      row.timestamp = timestamp;
    },
  };
}
