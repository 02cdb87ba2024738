import { readInt32, readInt64AsNumber, writeInt32, writeInt64FromNumber } from '@millrace/protocol';
import { recordSerde } from './record-serde.ts';
import type { RecordSerde } from './serde.ts';
import { SerializationError, outOfRange, wrongLength, wrongType } from './serialization-error.ts';

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** A number that the serde has no bytes for, or none at all. */
function refused(name: string, expected: string, value: unknown): Error {
  return typeof value === 'number'
    ? outOfRange(name, expected, value)
    : wrongType(name, expected, value);
}

function integerIn(name: string, min: number, max: number, value: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    throw refused(name, `whole numbers from ${String(min)} to ${String(max)}`, value);
  }
}

/**
 * Kafka's 8-byte `LongSerializer`, as a number. Exact within ±(2^53 - 1); a value outside is an error in
 * both directions (use `bigint`), never a rounded number.
 */
export const longSerde: RecordSerde<number> = recordSerde<number>({
  name: 'long',
  write(value, target, position) {
    if (!Number.isSafeInteger(value)) {
      throw refused('long', 'whole numbers within ±(2^53 - 1) (use "bigint" beyond)', value);
    }
    if (target.length - position < 8) return -1;
    return writeInt64FromNumber(target, position, value);
  },
  read(source, start, end) {
    if (end - start !== 8) throw wrongLength('long', 8, end - start);
    const value = readInt64AsNumber(source, start);
    if (!Number.isSafeInteger(value)) {
      throw new SerializationError(
        `The serde "long" read ${String(source.readBigInt64BE(start))}, which no number holds exactly. ` +
          'Use the serde "bigint" for this topic or store.',
      );
    }
    return value;
  },
  maxBytes: () => 8,
  fixedBytes: 8,
  isImmutable: true,
  mapKey: mapKeyOfNumber,
});

/** Kafka's 8-byte `LongSerializer`, as a bigint. */
export const bigintSerde: RecordSerde<bigint> = recordSerde<bigint>({
  name: 'bigint',
  write(value, target, position) {
    if (typeof value !== 'bigint') throw wrongType('bigint', 'bigints of 64 bits', value);
    if (value < INT64_MIN || value > INT64_MAX) {
      throw outOfRange('bigint', 'bigints of 64 bits', value);
    }
    if (target.length - position < 8) return -1;
    return target.writeBigInt64BE(value, position);
  },
  read(source, start, end) {
    if (end - start !== 8) throw wrongLength('bigint', 8, end - start);
    return source.readBigInt64BE(start);
  },
  maxBytes: () => 8,
  fixedBytes: 8,
  isImmutable: true,
  mapKey(value) {
    if (typeof value !== 'bigint') throw wrongType('bigint', 'bigints of 64 bits', value);
    return value.toString();
  },
});

/** Kafka's 4-byte `IntegerSerializer`. */
export const integerSerde: RecordSerde<number> = recordSerde<number>({
  name: 'integer',
  write(value, target, position) {
    integerIn('integer', -0x8000_0000, 0x7fff_ffff, value);
    if (target.length - position < 4) return -1;
    return writeInt32(target, position, value);
  },
  read(source, start, end) {
    if (end - start !== 4) throw wrongLength('integer', 4, end - start);
    return readInt32(source, start);
  },
  maxBytes: () => 4,
  fixedBytes: 4,
  isImmutable: true,
  mapKey: mapKeyOfNumber,
});

/** Kafka's 2-byte `ShortSerializer`. */
export const shortSerde: RecordSerde<number> = recordSerde<number>({
  name: 'short',
  write(value, target, position) {
    integerIn('short', -0x8000, 0x7fff, value);
    if (target.length - position < 2) return -1;
    return target.writeInt16BE(value, position);
  },
  read(source, start, end) {
    if (end - start !== 2) throw wrongLength('short', 2, end - start);
    return source.readInt16BE(start);
  },
  maxBytes: () => 2,
  fixedBytes: 2,
  isImmutable: true,
  mapKey: mapKeyOfNumber,
});

/** Kafka's 8-byte `DoubleSerializer` (IEEE 754, big endian). */
export const doubleSerde: RecordSerde<number> = recordSerde<number>({
  name: 'double',
  write(value, target, position) {
    if (typeof value !== 'number') throw wrongType('double', 'numbers', value);
    if (target.length - position < 8) return -1;
    return target.writeDoubleBE(value, position);
  },
  read(source, start, end) {
    if (end - start !== 8) throw wrongLength('double', 8, end - start);
    return source.readDoubleBE(start);
  },
  maxBytes: () => 8,
  fixedBytes: 8,
  isImmutable: true,
});

/** Kafka's 4-byte `FloatSerializer`; a number is rounded to the nearest float. */
export const floatSerde: RecordSerde<number> = recordSerde<number>({
  name: 'float',
  write(value, target, position) {
    if (typeof value !== 'number') throw wrongType('float', 'numbers', value);
    if (target.length - position < 4) return -1;
    return target.writeFloatBE(value, position);
  },
  read(source, start, end) {
    if (end - start !== 4) throw wrongLength('float', 4, end - start);
    return source.readFloatBE(start);
  },
  maxBytes: () => 4,
  fixedBytes: 4,
  isImmutable: true,
});

// Doubles and floats have no map key: -0 and 0 are one key in a Map, but not in bytes.
function mapKeyOfNumber(value: number): number {
  if (typeof value !== 'number') throw wrongType('number', 'whole numbers', value);
  return value;
}
