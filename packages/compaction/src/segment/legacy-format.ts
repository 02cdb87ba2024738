import { crc32 } from 'node:zlib';
import { LogDirError } from '../errors.ts';

const CRC_AT = 12;
const CRC_COVERS_FROM = 16;

/**
 * A message of before Kafka 0.11, which is data that nobody may take for damage: recovery would cut
 * it off.
 */
export class LegacyFormatError extends LogDirError {
  override readonly code = 'LOG_LEGACY_FORMAT';

  constructor(path: string, position: number) {
    super(
      `${path} at byte ${String(position)}: a message format of before Kafka 0.11, which is not read here; ` +
        `let a Kafka broker of version 3 rewrite the topic first`,
    );
  }
}

/** Whether the bytes are an intact magic 0 or 1 message: CRC-32 over all that follows it. */
export function isLegacyMessage(buffer: Buffer, start: number, sizeBytes: number): boolean {
  if (sizeBytes <= CRC_COVERS_FROM) return false;
  const body = buffer.subarray(start + CRC_COVERS_FROM, start + sizeBytes);
  return buffer.readUInt32BE(start + CRC_AT) === crc32(body);
}
