import type { Reader } from '../bytes/reader.ts';
import type { MessageWriter } from './message-writer.ts';

/** One type in one version, compiled: what reads it from a frame and what writes it. */
export interface Codec {
  /** The least number of bytes that a value takes; bounds the count of an array. */
  readonly minBytes: number;
  /** The number of bytes that every value takes, or null when it depends on the value. */
  readonly fixedBytes: number | null;
  read(reader: Reader): unknown;
  write(writer: MessageWriter, value: unknown): void;
}
