import { InvalidLengthError, InvalidValueError, ProtocolError } from '../bytes/protocol-error.ts';
import type { Reader } from '../bytes/reader.ts';
import type { Codec } from './codec.ts';
import { defaultMaker, defaultTest, structMaker } from './defaults.ts';
import type { Field, Fields, FieldType } from './field.ts';
import { atField } from './field-error.ts';
import { readBytesLength, writeBytesLength } from './lengths.ts';
import type { Encoding } from './lengths.ts';
import { scalarCodec } from './scalar-codecs.ts';
import { compileTaggedFields } from './tagged-fields.ts';
import { includesVersion } from './version-range.ts';

/**
 * Compiles the fields of one version into closures. Everything that depends on declaration and
 * version is settled here, so that reading and writing only walk flat arrays.
 */
export function compileStruct(fields: Fields, version: number, flexible: boolean): Codec {
  const names: string[] = [];
  const codecs: Codec[] = [];
  const defaults: unknown[] = [];
  const unsupported: { name: string; isDefault: (value: unknown) => boolean }[] = [];
  const taggedFields: [string, Field<unknown>, Codec][] = [];

  for (const [name, field] of Object.entries(fields)) {
    if (!includesVersion(field.versions, version)) {
      if (!field.ignorable) unsupported.push({ name, isDefault: defaultTest(field) });
    } else if (field.tag !== null) {
      taggedFields.push([name, field, compileField(field, version, flexible)]);
    } else {
      names.push(name);
      codecs.push(compileField(field, version, flexible));
      defaults.push(defaultMaker(field)());
    }
  }
  if (!flexible && taggedFields.length > 0) {
    throw new TypeError(`version ${version} is not flexible, but has tagged fields`);
  }
  const tagged = flexible ? compileTaggedFields(taggedFields) : null;
  const count = names.length;
  const makeStruct = structMaker(
    fields,
    (field) => field.tag !== null || !includesVersion(field.versions, version),
  );

  return {
    minBytes: codecs.reduce((sum, codec) => sum + codec.minBytes, tagged === null ? 0 : 1),
    fixedBytes: null,
    read(reader) {
      const result = makeStruct();
      let index = 0;
      try {
        for (; index < count; index++) {
          result[names[index] as string] = (codecs[index] as Codec).read(reader);
        }
      } catch (error) {
        throw atField(error, names[index] as string);
      }
      tagged?.read(reader, result);
      return result;
    },
    write(writer, value) {
      if (typeof value !== 'object' || value === null) {
        throw new InvalidValueError(`expected an object, got ${String(value)}`);
      }
      const source = value as Readonly<Record<string, unknown>>;
      let index = 0;
      try {
        for (; index < count; index++) {
          const given = source[names[index] as string];
          (codecs[index] as Codec).write(writer, given === undefined ? defaults[index] : given);
        }
      } catch (error) {
        throw atField(error, names[index] as string);
      }
      for (const { name, isDefault } of unsupported) {
        if (!isDefault(source[name])) throw atField(unsupportedFieldError(version), name);
      }
      tagged?.write(writer, source);
    },
  };
}

function unsupportedFieldError(version: number): ProtocolError {
  return new ProtocolError(
    'PROTOCOL_UNSUPPORTED_FIELD',
    `version ${version} cannot carry this field; leave it out or use another version`,
  );
}

function compileField(field: Field<unknown>, version: number, flexible: boolean): Codec {
  const nullable = includesVersion(field.nullable, version);
  return compileType(field.type, version, flexible, nullable);
}

function compileType(
  type: FieldType,
  version: number,
  flexible: boolean,
  nullable: boolean,
): Codec {
  switch (type.kind) {
    case 'struct': {
      const codec = compileStruct(type.fields, version, flexible);
      return nullable ? nullableStruct(codec) : codec;
    }
    case 'array': {
      const element = compileType(type.element, version, flexible, false);
      return arrayCodec(element, { compact: flexible, nullable });
    }
    default:
      return scalarCodec(type.kind, { compact: flexible, nullable });
  }
}

function nullableStruct(codec: Codec): Codec {
  return {
    minBytes: 1,
    fixedBytes: null,
    read: (reader) => (reader.readInt8() < 0 ? null : codec.read(reader)),
    write(writer, value) {
      writer.writeInt8(value === null ? -1 : 1);
      if (value !== null) codec.write(writer, value);
    },
  };
}

function arrayCodec(element: Codec, encoding: Encoding): Codec {
  const minElementBytes = Math.max(1, element.minBytes);
  return {
    minBytes: encoding.compact ? 1 : 4,
    fixedBytes: null,
    read(reader) {
      const count = readBytesLength(reader, encoding);
      if (count < 0) return null;
      checkCount(count, minElementBytes, reader);
      const elements: unknown[] = [];
      let index = 0;
      try {
        for (; index < count; index++) elements.push(element.read(reader));
      } catch (error) {
        throw atField(error, `[${index}]`);
      }
      return elements;
    },
    write(writer, value) {
      if (value === null) {
        writeBytesLength(writer, encoding, -1);
        return;
      }
      if (!Array.isArray(value)) {
        throw new InvalidValueError('expected an array');
      }
      const elements: readonly unknown[] = value;
      writeBytesLength(writer, encoding, elements.length);
      let index = 0;
      try {
        for (; index < elements.length; index++) element.write(writer, elements[index]);
      } catch (error) {
        throw atField(error, `[${index}]`);
      }
    },
  };
}

/** A hostile count fails here, before anything is allocated for it; so do too many small elements. */
function checkCount(count: number, minElementBytes: number, reader: Reader): void {
  if (count * minElementBytes > reader.remaining) {
    throw new InvalidLengthError(
      `${count} elements need at least ${count * minElementBytes} bytes, ${reader.remaining} are left`,
    );
  }
  reader.elementsLeft -= count;
  if (reader.elementsLeft < 0) {
    throw new InvalidLengthError(`${count} elements are more than one message may have`);
  }
}
