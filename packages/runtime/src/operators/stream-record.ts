import { RecordHeaders } from '@millrace/protocol';
import { ProcessorUsageError } from './processor-usage-error.ts';

/** A record as it can be forwarded: a `StreamRecord`, or any object like it. */
export interface RecordParts<K, V> {
  readonly key: K;
  readonly value: V;
  /** Epoch ms, 0 or more. */
  readonly timestamp: number;
  readonly headers?: RecordHeaders | null | undefined;
}

let givenHeaders: (record: HeadersHolder) => RecordHeaders | null;

abstract class HeadersHolder {
  readonly timestamp: number;
  #given: RecordHeaders | null;
  #isOwn = false;

  constructor(timestamp: number, headers: RecordHeaders | null) {
    this.timestamp = validTimestamp(timestamp);
    this.#given = headers;
  }

  static {
    givenHeaders = (record) => record.#given;
  }

  /** The record's own: changing them changes what is forwarded with it, and nothing else. */
  get headers(): RecordHeaders {
    if (this.#given === null) this.#given = new RecordHeaders();
    else if (!this.#isOwn) this.#given = this.#given.copy();
    this.#isOwn = true;
    return this.#given;
  }
}

/**
 * A record in the hands of a processor (Kafka's `Record`). It stays as it is, except for its headers;
 * `with...` makes another one.
 */
export class StreamRecord<K, V> extends HeadersHolder implements RecordParts<K, V> {
  readonly key: K;
  readonly value: V;

  /** @param timestamp epoch ms; a negative one is a ProcessorUsageError */
  constructor(key: K, value: V, timestamp: number, headers: RecordHeaders | null = null) {
    super(timestamp, headers);
    this.key = key;
    this.value = value;
  }

  withKey<KR>(key: KR): StreamRecord<KR, V> {
    return new StreamRecord(key, this.value, this.timestamp, headersOf(this));
  }

  withValue<VR>(value: VR): StreamRecord<K, VR> {
    return new StreamRecord(this.key, value, this.timestamp, headersOf(this));
  }

  withTimestamp(timestamp: number): StreamRecord<K, V> {
    return new StreamRecord(this.key, this.value, timestamp, headersOf(this));
  }

  withHeaders(headers: RecordHeaders): StreamRecord<K, V> {
    return new StreamRecord(this.key, this.value, this.timestamp, headers);
  }
}

let makeFixedKeyRecord: <K, V>(
  key: K,
  value: V,
  timestamp: number,
  headers: RecordHeaders | null,
) => FixedKeyRecord<K, V>;

/** A record whose key cannot be changed, as `processValues` has it. Only another one makes one. */
export class FixedKeyRecord<K, V> extends HeadersHolder {
  readonly key: K;
  readonly value: V;
  /** Tells the type checker that a StreamRecord is none. */
  declare protected readonly hasFixedKey: true;

  private constructor(key: K, value: V, timestamp: number, headers: RecordHeaders | null) {
    super(timestamp, headers);
    this.key = key;
    this.value = value;
  }

  static {
    makeFixedKeyRecord = (key, value, timestamp, headers) =>
      new FixedKeyRecord(key, value, timestamp, headers);
  }

  withValue<VR>(value: VR): FixedKeyRecord<K, VR> {
    return new FixedKeyRecord(this.key, value, this.timestamp, headersOf(this));
  }

  withTimestamp(timestamp: number): FixedKeyRecord<K, V> {
    return new FixedKeyRecord(this.key, this.value, timestamp, headersOf(this));
  }

  withHeaders(headers: RecordHeaders): FixedKeyRecord<K, V> {
    return new FixedKeyRecord(this.key, this.value, this.timestamp, headers);
  }
}

export function fixedKeyRecord<K, V>(
  key: K,
  value: V,
  timestamp: number,
  headers: RecordHeaders | null,
): FixedKeyRecord<K, V> {
  return makeFixedKeyRecord(key, value, timestamp, headers);
}

/** The headers without copying them for a record that nobody asked for them. */
export function headersOf(record: RecordParts<unknown, unknown>): RecordHeaders | null {
  return record instanceof HeadersHolder ? givenHeaders(record) : (record.headers ?? null);
}

export function validTimestamp(timestamp: number): number {
  if (Number.isSafeInteger(timestamp) && timestamp >= 0) return timestamp;
  throw new ProcessorUsageError(
    `A record's timestamp is ${String(timestamp)}, but must be a whole number of milliseconds, 0 or more. ` +
      'Check what the processor computes it from.',
  );
}
