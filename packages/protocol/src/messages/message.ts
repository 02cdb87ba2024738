import { ProtocolError } from '../bytes/protocol-error.ts';
import { Reader } from '../bytes/reader.ts';
import type { Encodable } from './field.ts';
import { describeFieldError } from './field-error.ts';
import { MessageWriter } from './message-writer.ts';
import type { Schema } from './schema.ts';

/**
 * Appends a message.
 *
 * @throws ProtocolError naming message, version and field when a value does not fit its type
 *   (`PROTOCOL_INVALID_VALUE`, `PROTOCOL_INVALID_LENGTH`, `PROTOCOL_UNEXPECTED_NULL`) or the version
 *   has no place for it (`PROTOCOL_UNSUPPORTED_FIELD`)
 */
export function writeMessage<T>(
  writer: MessageWriter,
  schema: Schema<T>,
  version: number,
  body: Encodable<T>,
): void {
  ensureVersion(schema, version);
  try {
    schema.codec(version).write(writer, body);
  } catch (error) {
    throw describeFieldError(error, 'encode', `${schema.name} version ${version}`);
  }
}

/**
 * Reads a message; `bytes` and `records` are views of the reader's buffer. Bytes behind the message
 * are left alone, as Kafka does.
 *
 * @throws ProtocolError naming message, version and field
 */
export function readMessage<T>(reader: Reader, schema: Schema<T>, version: number): T {
  ensureVersion(schema, version);
  try {
    return schema.codec(version).read(reader) as T;
  } catch (error) {
    throw describeFieldError(error, 'decode', `${schema.name} version ${version}`);
  }
}

export function encodeMessage<T>(schema: Schema<T>, version: number, body: Encodable<T>): Buffer {
  const writer = new MessageWriter(Infinity);
  writeMessage(writer, schema, version, body);
  return writer.toBuffer();
}

/** @param position of the message's first byte in `buffer` */
export function decodeMessage<T>(
  schema: Schema<T>,
  version: number,
  buffer: Buffer,
  position = 0,
): T {
  return readMessage(new Reader(buffer, position), schema, version);
}

function ensureVersion(schema: Schema<unknown>, version: number): void {
  if (schema.supports(version)) return;
  const { min, max } = schema.versions;
  throw new ProtocolError(
    'PROTOCOL_UNSUPPORTED_VERSION',
    `${schema.name} version ${version} is not known; known are ${min} to ${max}`,
  );
}
