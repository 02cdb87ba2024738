import { InvalidLengthError, ProtocolError } from '../bytes/protocol-error.ts';
import type { Reader } from '../bytes/reader.ts';
import type { Writer } from '../bytes/writer.ts';
import { MAX_STRING_BYTES } from './limits.ts';

/** How the lengths of strings, bytes and arrays are written in one version of a field. */
export interface Encoding {
  /** Length + 1 as an unsigned varint, 0 for null (KIP-482); else int16 or int32, -1 for null. */
  readonly compact: boolean;
  readonly nullable: boolean;
}

const MAX_INT32 = 0x7fffffff;

export function ensureNullable(encoding: Encoding): void {
  if (encoding.nullable) return;
  throw new ProtocolError('PROTOCOL_UNEXPECTED_NULL', 'null, but not nullable in this version');
}

function checkLength(length: number, encoding: Encoding, max: number): number {
  if (length === -1) ensureNullable(encoding);
  else if (length < 0 || length > max) throw new InvalidLengthError(`length ${length}`);
  return length;
}

/** Bytes of the string that follows, or -1 for null. */
export function readStringLength(reader: Reader, encoding: Encoding): number {
  const length = encoding.compact ? reader.readUnsignedVarint() - 1 : reader.readInt16();
  return checkLength(length, encoding, MAX_STRING_BYTES);
}

/** Bytes that follow, or elements of an array; -1 for null. */
export function readBytesLength(reader: Reader, encoding: Encoding): number {
  const length = encoding.compact ? reader.readUnsignedVarint() - 1 : reader.readInt32();
  return checkLength(length, encoding, MAX_INT32);
}

/** @param length -1 for null */
export function writeBytesLength(writer: Writer, encoding: Encoding, length: number): void {
  if (length === -1) ensureNullable(encoding);
  if (encoding.compact) writer.writeUnsignedVarint(length + 1);
  else writer.writeInt32(length);
}
