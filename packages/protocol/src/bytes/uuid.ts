import { InvalidLengthError, InvalidValueError } from './protocol-error.ts';

/** Kafka's "no id": 16 zero bytes. */
export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA';

/** Kafka keeps this one for the metadata topic: the bytes of the number 1. */
export const METADATA_TOPIC_UUID = 'AAAAAAAAAAAAAAAAAAAAAQ';

const UUID_BYTES = 16;
const UUID_PATTERN = /^[A-Za-z0-9_-]{22}(==)?$/;

/** 16 bytes at `position` as Kafka writes an id: 22 characters of base64url without padding. */
export function uuidToString(bytes: Buffer, position = 0): string {
  const end = position + UUID_BYTES;
  if (position < 0 || end > bytes.length) {
    throw new InvalidLengthError(
      `a uuid needs 16 bytes at position ${position}, the buffer has ${bytes.length}`,
    );
  }
  return bytes.toString('base64url', position, end);
}

/** The 16 bytes of an id. Throws InvalidValueError when `text` is not 22 characters of base64url. */
export function uuidFromString(text: string): Buffer {
  if (!UUID_PATTERN.test(text)) {
    throw new InvalidValueError(
      `'${text.slice(0, 64)}' is no Kafka uuid: 22 characters of base64url are expected`,
    );
  }
  return Buffer.from(text.slice(0, 22), 'base64url');
}

/**
 * A random (version 4) id in Kafka's text form, never one of the reserved ids and never starting
 * with a dash, which command lines would take for an option. `fill` overwrites its argument with
 * random bytes; it is called again while its result cannot be used.
 */
export function randomUuid(fill: (target: Buffer) => void): string {
  const bytes = Buffer.alloc(UUID_BYTES);
  for (;;) {
    fill(bytes);
    bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
    bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
    const text = uuidToString(bytes);
    if (!text.startsWith('-')) return text;
  }
}
