import { CorruptRecordError, DecompressedTooLargeError } from '../bytes/protocol-error.ts';
import type { Codec } from './codec.ts';

export function tooLarge(
  codec: Codec,
  what: string,
  bytes: number | string,
  maxBytes: number,
  cause?: unknown,
): DecompressedTooLargeError {
  return new DecompressedTooLargeError(
    `${what}: ${codec} could decompress to ${bytes} bytes, the limit is ${maxBytes}; ` +
      `raise the limit if such batches are wanted`,
    { cause },
  );
}

export function damaged(
  codec: Codec,
  what: string,
  detail: string,
  cause?: unknown,
): CorruptRecordError {
  return new CorruptRecordError(`${what}: damaged ${codec} data: ${detail}`, { cause });
}

/** What a native library throws, as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
