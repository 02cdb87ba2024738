import { writeVarint } from '@millrace/protocol';
import { CustomSerde } from './custom-serde.ts';
import { isDetached, type RecordSerde } from './serde.ts';
import { recordSerde } from './record-serde.ts';
import { SerializationError } from './serialization-error.ts';

/** A table's change on its way through a repartition topic; at least one of the two is not null. */
export class Change<V> {
  newValue: V | null;
  oldValue: V | null;

  constructor(newValue: V | null, oldValue: V | null) {
    this.newValue = newValue;
    this.oldValue = oldValue;
  }
}

const OLD_ONLY = 0;
const NEW_ONLY = 1;
const BOTH = 2;
/** From here on the same three, with a byte before the flag that says whether the change is the latest. */
const FIRST_WITH_LATEST = 3;
const LAST_FLAG = 5;
const VARINT_MAX_BYTES = 5;

/**
 * Kafka Streams' bytes of a change (KIP-904): one value and a flag of 0 (old) or 1 (new), or both as
 * zigzag varint length of the new value, new value, old value, and the flag 2. The flags 3 to 5,
 * which Kafka Streams can read as well, are understood.
 */
export function changeSerde<V>(inner: RecordSerde<V>): RecordSerde<Change<V>> {
  return inner instanceof CustomSerde
    ? (inner as CustomSerde<V>).within(changesOf)
    : changesOf(inner);
}

function changesOf<V>(inner: RecordSerde<V>): RecordSerde<Change<V>> {
  const unreadable = (): SerializationError =>
    new SerializationError(
      `The bytes are no change of a table with values of the serde "${inner.name}". ` +
        'Did something other than this application write to its repartition topic?',
    );
  return recordSerde<Change<V>>({
    name: `change(${inner.name})`,
    isDetached: isDetached(inner),
    write({ newValue, oldValue }, target, position) {
      if (newValue !== null && oldValue !== null) {
        const newEnd = writeWithLength(inner, newValue, target, position);
        return newEnd < 0 ? -1 : flagged(target, inner.write(oldValue, target, newEnd), BOTH);
      }
      if (newValue !== null) {
        return flagged(target, inner.write(newValue, target, position), NEW_ONLY);
      }
      if (oldValue !== null) {
        return flagged(target, inner.write(oldValue, target, position), OLD_ONLY);
      }
      throw new SerializationError('A change whose old and new value are both null has no bytes.');
    },
    read(source, start, end, headers) {
      let valuesEnd = end - 1;
      let flag = valuesEnd < start ? -1 : (source[valuesEnd] as number);
      if (flag >= FIRST_WITH_LATEST && flag <= LAST_FLAG) {
        flag -= FIRST_WITH_LATEST;
        valuesEnd--;
      }
      if (valuesEnd < start || flag < OLD_ONLY || flag > BOTH) throw unreadable();
      if (flag === OLD_ONLY)
        return new Change<V>(null, inner.read(source, start, valuesEnd, headers));
      if (flag === NEW_ONLY)
        return new Change<V>(inner.read(source, start, valuesEnd, headers), null);
      const newStart = endOfVarint(source, start, valuesEnd);
      const length = newStart < 0 ? -1 : readVarint(source, start, newStart);
      if (length < 0 || length > valuesEnd - newStart) throw unreadable();
      const newEnd = newStart + length;
      const newValue = inner.read(source, newStart, newEnd, headers);
      return new Change<V>(newValue, inner.read(source, newEnd, valuesEnd, headers));
    },
  });
}

function flagged(target: Buffer, end: number, flag: number): number {
  if (end < 0 || end >= target.length) return -1;
  target[end] = flag;
  return end + 1;
}

/** The length is known only once the value is written: most need one byte for it, else the value moves. */
function writeWithLength<V>(
  inner: RecordSerde<V>,
  value: V,
  target: Buffer,
  position: number,
): number {
  const start = position + VARINT_MAX_BYTES;
  if (start > target.length) return -1;
  const end = inner.write(value, target, start);
  if (end < 0) return -1;
  const valueStart = writeVarint(target, position, end - start);
  target.copyWithin(valueStart, start, end);
  return valueStart + (end - start);
}

/** -1 if it does not end in time. */
function endOfVarint(source: Buffer, start: number, end: number): number {
  const limit = Math.min(end, start + VARINT_MAX_BYTES);
  for (let i = start; i < limit; i++) {
    if ((source[i] as number) < 0x80) return i + 1;
  }
  return -1;
}

function readVarint(source: Buffer, start: number, end: number): number {
  let bits = 0;
  for (let i = end - 1; i >= start; i--) bits = (bits << 7) | ((source[i] as number) & 0x7f);
  return (bits >>> 1) ^ -(bits & 1);
}
