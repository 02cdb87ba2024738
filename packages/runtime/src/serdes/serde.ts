import type { RecordHeaders } from '@millrace/protocol';

/**
 * Turns one type into bytes and back. A serde is synchronous and never sees null: null keys and
 * values (tombstones) pass by it in both directions.
 *
 * `serialize`/`deserialize` are all that a serde must have. `write`/`read` are the same two as the
 * record path wants them, without a Buffer per record; the built-in serdes have them, and a serde
 * that has none is adapted once, when the topology is built (see `toRecordSerde`).
 */
export interface Serde<T> {
  /** Shown in errors: `string`, `json`, `timeWindowed(string)`. */
  readonly name: string;
  serialize(value: T, topic: string, headers: RecordHeaders | null): Uint8Array;
  /** `bytes` is a view of a fetched batch: copy what is kept. */
  deserialize(bytes: Uint8Array, topic: string, headers: RecordHeaders | null): T;
  /** Writes at `position`; returns the end, or -1 if `target` is too small (nothing may be kept then). */
  write?(value: T, target: Buffer, position: number): number;
  /** `headers` are the record's; null where there are none, or where bytes come from a store. */
  read?(source: Buffer, start: number, end: number, headers?: RecordHeaders | null): T;
  /**
   * Values of this type cannot be changed in place (string, number, bigint, boolean), so an
   * in-memory store may keep the value itself instead of its bytes.
   */
  readonly isImmutable?: boolean;
  /**
   * What is read shares no memory with the bytes that it was read from, which may then be used again. Follows
   * from `isImmutable`; left out, a fetched batch lives as long as anything that was read from it.
   */
  readonly isDetached?: boolean;
  /** Every sequence of bytes is a value, so that one which nobody looks at need not be read. */
  readonly readsAnything?: boolean;
  /**
   * A primitive that is equal exactly when the bytes are equal; in-memory stores key their maps by
   * it. Without it they use the bytes as a latin1 string.
   */
  mapKey?(value: T): string | number;
  /** The text whose characters are the value's bytes, if it is there already; else null, and it is made of the bytes. */
  asciiText?(value: T): string | null;
  /** For a type that can be changed in place: what an in-memory store keeps instead of its bytes. */
  readonly snapshot?: Snapshot<T>;
  /**
   * Every value has so many bytes: in a list, Kafka writes such values without their lengths. Only
   * the types for which Kafka does so have it (a boolean has not).
   */
  readonly fixedBytes?: number;
  /** Trailing bytes that the default partitioner leaves out: 8 in a time-windowed key, 16 in a session key. */
  readonly unhashedSuffixBytes?: number;
}

/** An immutable form of a value that can be changed in place, such as the text of a JSON value. */
export interface Snapshot<T> {
  take(value: T): unknown;
  /** A new value each time. */
  restore(snapshot: unknown): T;
  /** Writes and reads the snapshot with the bytes that the value itself would have. */
  readonly serde: RecordSerde<unknown>;
}

/** What a serde carries inside the record path: both forms present. */
export interface RecordSerde<T> extends Serde<T> {
  write(value: T, target: Buffer, position: number): number;
  read(source: Buffer, start: number, end: number, headers?: RecordHeaders | null): T;
}

export function isDetached(serde: Serde<unknown>): boolean {
  return serde.isImmutable === true || serde.isDetached === true;
}
