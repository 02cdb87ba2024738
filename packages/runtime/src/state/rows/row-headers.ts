import type { RecordHeaders } from '@millrace/protocol';

/*
 * Headers before a row's value: int32 number of headers, then each one's name and value with int32 lengths
 * (-1: null).
 */
const LENGTH_BYTES = 4;
const NULL_LENGTH = -1;

/** Returns the end, or -1 if `target` is too small. */
export function writeHeaders(
  headers: RecordHeaders | null | undefined,
  target: Buffer,
  position: number,
): number {
  let end = position + LENGTH_BYTES;
  if (end > target.length) return -1;
  target.writeInt32BE(headers?.size ?? 0, position);
  for (const { key, value } of headers ?? []) {
    const keyBytes = Buffer.byteLength(key);
    const valueBytes = value?.length ?? 0;
    if (end + 2 * LENGTH_BYTES + keyBytes + valueBytes > target.length) return -1;
    target.writeInt32BE(keyBytes, end);
    end += LENGTH_BYTES;
    end += target.write(key, end);
    target.writeInt32BE(value === null ? NULL_LENGTH : valueBytes, end);
    end += LENGTH_BYTES;
    if (value !== null) end += value.copy(target, end);
  }
  return end;
}

/** Adds what stands there to `headers`, if they are given; returns the end. */
export function readHeaders(
  source: Buffer,
  position: number,
  headers: RecordHeaders | null,
): number {
  let end = position + LENGTH_BYTES;
  for (let left = source.readInt32BE(position); left > 0; left--) {
    const keyEnd = end + LENGTH_BYTES + source.readInt32BE(end);
    const keyStart = end + LENGTH_BYTES;
    const valueBytes = source.readInt32BE(keyEnd);
    const valueStart = keyEnd + LENGTH_BYTES;
    end = valueStart + Math.max(0, valueBytes);
    if (headers === null) continue;
    const key = source.toString('utf8', keyStart, keyEnd);
    headers.add(key, valueBytes < 0 ? null : Buffer.from(source.subarray(valueStart, end)));
  }
  return end;
}
