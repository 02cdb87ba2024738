import { Reader } from '../bytes/reader.ts';
import type { Encodable } from './field.ts';
import { readMessage, writeMessage } from './message.ts';
import { MessageWriter } from './message-writer.ts';
import type { Schema } from './schema.ts';

/**
 * A message behind its version (int16): keys and values of the internal topics, metadata and
 * assignments of consumer groups.
 */
export function encodeVersioned<T>(schema: Schema<T>, version: number, body: Encodable<T>): Buffer {
  const writer = new MessageWriter(Infinity);
  writer.writeInt16(version);
  writeMessage(writer, schema, version, body);
  return writer.toBuffer();
}

/** The version in front; tells the kind of a key in `__consumer_offsets`. */
export function versionOf(buffer: Buffer): number {
  return new Reader(buffer).readInt16();
}

/**
 * @param options.newerAsNewest read a version above the newest known one as that one; only for schemas
 *   that promise to add fields at the end alone (the consumer protocol)
 * @throws ProtocolError `PROTOCOL_UNSUPPORTED_VERSION` for a version that is not declared
 */
export function decodeVersioned<T>(
  schema: Schema<T>,
  buffer: Buffer,
  options: { readonly newerAsNewest?: boolean } = {},
): { version: number; body: T } {
  const reader = new Reader(buffer);
  const version = reader.readInt16();
  const newest = schema.versions.max;
  const readAs = options.newerAsNewest === true && version > newest ? newest : version;
  return { version, body: readMessage(reader, schema, readAs) };
}
