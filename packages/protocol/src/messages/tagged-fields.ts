import { InvalidLengthError, TruncatedError } from '../bytes/protocol-error.ts';
import type { Reader } from '../bytes/reader.ts';
import type { Codec } from './codec.ts';
import { defaultTest } from './defaults.ts';
import type { Field } from './field.ts';
import { atField } from './field-error.ts';
import { MessageWriter } from './message-writer.ts';

interface TaggedField {
  readonly tag: number;
  readonly name: string;
  readonly codec: Codec;
  readonly isDefault: (value: unknown) => boolean;
}

/** The section at the end of every flexible struct (KIP-482). */
export interface TaggedFields {
  /** Sets the fields it finds and skips unknown tags. A tag that comes twice counts with its last value. */
  read(reader: Reader, into: Record<string, unknown>): void;
  /** Writes, in the order of their tags, those fields that differ from their defaults. */
  write(writer: MessageWriter, source: Readonly<Record<string, unknown>>): void;
}

/** A tag and a size, one byte each: the least that a tagged field takes. */
const MIN_TAGGED_FIELD_BYTES = 2;

export function compileTaggedFields(
  declared: readonly (readonly [string, Field<unknown>, Codec])[],
): TaggedFields {
  const known: TaggedField[] = declared
    .map(([name, field, codec]) => ({
      tag: field.tag as number,
      name,
      codec,
      isDefault: defaultTest(field),
    }))
    .sort((a, b) => a.tag - b.tag);
  const byTag = new Map(known.map((field) => [field.tag, field]));

  return {
    read(reader, into) {
      const count = readTaggedFieldCount(reader);
      for (let index = 0; index < count; index++) {
        const tag = reader.readUnsignedVarint();
        const end = readTaggedFieldEnd(reader);
        const field = byTag.get(tag);
        if (field === undefined) {
          reader.position = end;
          continue;
        }
        try {
          into[field.name] = field.codec.read(reader);
          if (reader.position !== end) throw sizeError(tag);
        } catch (error) {
          throw atField(error, field.name);
        }
      }
    },
    write(writer, source) {
      let count = 0;
      for (const { name, isDefault } of known) if (!isDefault(source[name])) count++;
      writer.writeUnsignedVarint(count);
      if (count === 0) return;
      for (const { tag, name, codec, isDefault } of known) {
        const value = source[name];
        if (isDefault(value)) continue;
        writer.writeUnsignedVarint(tag);
        try {
          writeSized(writer, codec, value);
        } catch (error) {
          throw atField(error, name);
        }
      }
    },
  };
}

/** Reads past a section of which nothing is known, as the one in a header. */
export function skipTaggedFields(reader: Reader): void {
  const count = readTaggedFieldCount(reader);
  for (let index = 0; index < count; index++) {
    reader.readUnsignedVarint();
    reader.position = readTaggedFieldEnd(reader);
  }
}

function readTaggedFieldCount(reader: Reader): number {
  const count = reader.readUnsignedVarint();
  if (count * MIN_TAGGED_FIELD_BYTES > reader.remaining) {
    throw new InvalidLengthError(
      `${count} tagged fields cannot fit into the ${reader.remaining} bytes left`,
    );
  }
  return count;
}

function readTaggedFieldEnd(reader: Reader): number {
  const size = reader.readUnsignedVarint();
  if (size > reader.remaining) {
    throw new TruncatedError(
      `a tagged field of ${size} bytes exceeds the ${reader.remaining} bytes left`,
    );
  }
  return reader.position + size;
}

function writeSized(writer: MessageWriter, codec: Codec, value: unknown): void {
  if (codec.fixedBytes !== null) {
    writer.writeUnsignedVarint(codec.fixedBytes);
    codec.write(writer, value);
    return;
  }
  const content = new MessageWriter(Infinity);
  codec.write(content, value);
  writer.writeUnsignedVarint(content.length);
  writer.writeBytes(content.toBuffer());
}

function sizeError(tag: number): InvalidLengthError {
  return new InvalidLengthError(`the size announced for tag ${tag} is not the size of its value`);
}
