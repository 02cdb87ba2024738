import { InvalidLengthError, InvalidValueError } from '../bytes/protocol-error.ts';
import { ZERO_UUID } from '../bytes/uuid.ts';
import type { Codec } from './codec.ts';
import type { ScalarName } from './field.ts';
import { ensureNullable, readBytesLength, readStringLength, writeBytesLength } from './lengths.ts';
import type { Encoding } from './lengths.ts';
import { MAX_STRING_BYTES } from './limits.ts';

const NO_BYTES = Buffer.alloc(0);

/** Characters of a wrong value that an error message repeats. */
const MAX_SHOWN = 64;

function invalid(expected: string, value: unknown): InvalidValueError {
  const shown = typeof value === 'object' && value !== null ? 'an object' : String(value);
  return new InvalidValueError(`expected ${expected}, got ${shown.slice(0, MAX_SHOWN)}`);
}

const int8: Codec = {
  minBytes: 1,
  fixedBytes: 1,
  read: (reader) => reader.readInt8(),
  write(writer, value) {
    if (typeof value !== 'number' || (value << 24) >> 24 !== value) throw invalid('an int8', value);
    writer.writeInt8(value);
  },
};

const int16: Codec = {
  minBytes: 2,
  fixedBytes: 2,
  read: (reader) => reader.readInt16(),
  write(writer, value) {
    if (typeof value !== 'number' || (value << 16) >> 16 !== value) {
      throw invalid('an int16', value);
    }
    writer.writeInt16(value);
  },
};

const int32: Codec = {
  minBytes: 4,
  fixedBytes: 4,
  read: (reader) => reader.readInt32(),
  write(writer, value) {
    if (typeof value !== 'number' || (value | 0) !== value) throw invalid('an int32', value);
    writer.writeInt32(value);
  },
};

const int64: Codec = {
  minBytes: 8,
  fixedBytes: 8,
  read: (reader) => reader.readInt64(),
  write(writer, value) {
    if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) {
      throw invalid('an int64 as bigint', value);
    }
    writer.writeInt64(value);
  },
};

const bool: Codec = {
  minBytes: 1,
  fixedBytes: 1,
  read: (reader) => reader.readBoolean(),
  write(writer, value) {
    if (typeof value !== 'boolean') throw invalid('a boolean', value);
    writer.writeBoolean(value);
  },
};

const uuid: Codec = {
  minBytes: 16,
  fixedBytes: 16,
  read: (reader) => reader.readUuid(),
  write(writer, value) {
    if (typeof value !== 'string') throw invalid('a uuid as a string', value);
    writer.writeUuid(value);
  },
};

function stringCodec(encoding: Encoding): Codec {
  return {
    minBytes: encoding.compact ? 1 : 2,
    fixedBytes: null,
    read(reader) {
      const length = readStringLength(reader, encoding);
      if (length < 0) return null;
      const start = reader.skip(length);
      const text = reader.buffer.toString('utf8', start, start + length);
      // What is no UTF-8 grows as it is replaced; it must fit when it is said again.
      if (text.length * 3 > MAX_STRING_BYTES && Buffer.byteLength(text) > MAX_STRING_BYTES) {
        throw new InvalidLengthError(
          `a string whose ${length} bytes are no UTF-8 exceeds the protocol's ${MAX_STRING_BYTES} when they are replaced`,
        );
      }
      return text;
    },
    write(writer, value) {
      if (value === null) {
        ensureNullable(encoding);
      } else {
        if (typeof value !== 'string') throw invalid('a string', value);
        ensureStringFits(value);
      }
      if (encoding.compact) writer.writeCompactNullableString(value);
      else writer.writeNullableString(value);
    },
  };
}

function ensureStringFits(value: string): void {
  // A UTF-16 unit takes at most three bytes, so most strings need no counting.
  if (value.length * 3 <= MAX_STRING_BYTES) return;
  const length = Buffer.byteLength(value);
  if (length > MAX_STRING_BYTES) {
    throw new InvalidValueError(
      `a string of ${length} bytes ('${value.slice(0, 32)}…') exceeds the protocol's ${MAX_STRING_BYTES}`,
    );
  }
}

function bytesCodec(encoding: Encoding): Codec {
  return {
    minBytes: encoding.compact ? 1 : 4,
    fixedBytes: null,
    read(reader) {
      const length = readBytesLength(reader, encoding);
      if (length < 0) return null;
      return length === 0 ? NO_BYTES : reader.readBytes(length);
    },
    write(writer, value) {
      if (value === null) {
        writeBytesLength(writer, encoding, -1);
        return;
      }
      if (!(value instanceof Uint8Array)) throw invalid('bytes', value);
      writeBytesLength(writer, encoding, value.length);
      writer.writeChunk(value);
    },
  };
}

export function scalarCodec(kind: ScalarName, encoding: Encoding): Codec {
  switch (kind) {
    case 'int8':
      return int8;
    case 'int16':
      return int16;
    case 'int32':
      return int32;
    case 'int64':
      return int64;
    case 'bool':
      return bool;
    case 'uuid':
      return uuid;
    case 'string':
      return stringCodec(encoding);
    case 'bytes':
    case 'records':
      return bytesCodec(encoding);
  }
}

/** The value of a scalar field whose declaration names no default. */
export function zeroOf(kind: ScalarName): number | bigint | boolean | string | Buffer {
  switch (kind) {
    case 'int8':
    case 'int16':
    case 'int32':
      return 0;
    case 'int64':
      return 0n;
    case 'bool':
      return false;
    case 'uuid':
      return ZERO_UUID;
    case 'string':
      return '';
    case 'bytes':
    case 'records':
      return NO_BYTES;
  }
}
