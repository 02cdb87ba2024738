import type { RecordSerde } from '../../serdes/serde.ts';
import { copyBytes } from './copy-bytes.ts';

/** Bytes of some buffer, named by their place. Reused by whoever has one: to be looked at at once. */
export interface ByteSpan {
  buffer: Buffer;
  start: number;
  end: number;
}

/** Writes the bytes of a span as they are; there is nothing to read with it. */
export const spanSerde: RecordSerde<ByteSpan> = {
  name: 'bytes',
  serialize: ({ buffer, start, end }) => buffer.subarray(start, end),
  deserialize: (bytes) => spanOf(Buffer.from(bytes)),
  write({ buffer, start, end }, target, position) {
    const length = end - start;
    if (length > target.length - position) return -1;
    copyBytes(buffer, start, end, target, position);
    return position + length;
  },
  read: (source, start, end) => spanOf(Buffer.from(source.subarray(start, end))),
};

function spanOf(buffer: Buffer): ByteSpan {
  return { buffer, start: 0, end: buffer.length };
}
