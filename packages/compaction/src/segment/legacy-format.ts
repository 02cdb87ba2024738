import { crc32 } from 'node:zlib';
import { BATCH_LOG_OVERHEAD } from '@millrace/protocol';
import { LogDirError } from '../errors.ts';
import type { DiskFile } from '../platform/disk.ts';

const LENGTH_AT = 8;
const CRC_AT = 12;
const MAGIC_AT = 16;
const CRC_COVERS_FROM = 16;

/**
 * A message of before Kafka 0.11, which is data that nobody may take for damage: recovery would cut
 * it off.
 */
class LegacyFormatError extends LogDirError {
  override readonly code = 'LOG_LEGACY_FORMAT';

  constructor(path: string, position: number) {
    super(
      `${path} at byte ${String(position)}: a message format of before Kafka 0.11, which is not read here; ` +
        `let a Kafka broker of version 3 rewrite the topic first`,
    );
  }
}

/**
 * Throws LegacyFormatError where an intact magic 0 or 1 message begins at `position` of a file, which
 * ends at `end`. Asked before anything is called damage: such a message may be shorter than the header
 * of a record batch.
 */
export function ensureNotLegacy(file: DiskFile, position: number, end: number): void {
  const head = Buffer.alloc(MAGIC_AT + 1);
  if (end - position < head.length) return;
  file.read(head, 0, head.length, position);
  const size = BATCH_LOG_OVERHEAD + head.readInt32BE(LENGTH_AT);
  const magic = head.readInt8(MAGIC_AT);
  if ((magic !== 0 && magic !== 1) || size <= MAGIC_AT || size > end - position) return;
  const message = Buffer.alloc(size);
  file.read(message, 0, size, position);
  // CRC-32 over all that follows it.
  if (message.readUInt32BE(CRC_AT) === crc32(message.subarray(CRC_COVERS_FROM))) {
    throw new LegacyFormatError(file.path, position);
  }
}
