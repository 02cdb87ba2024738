import type { RecordHeaders } from '@millrace/protocol';
import { toBuffer } from './record-serde.ts';
import { isDetached, type RecordSerde, type Serde, type Snapshot } from './serde.ts';

/**
 * A serde that has only `serialize` and `deserialize`, as the record path wants it: with the topic
 * and the headers that it is told. What writes records calls `prepare` before and `release` after
 * (see `TaskRecordCollector`): so the user's function is called once per record, with its headers,
 * to which it may add; all others just `write`, and then it is told no headers.
 */
export class CustomSerde<T> implements RecordSerde<T> {
  readonly name: string;
  readonly isImmutable?: boolean;
  readonly isDetached: boolean;
  readonly mapKey?: (value: T) => string | number;
  readonly snapshot?: Snapshot<T>;
  readonly fixedBytes?: number;
  readonly unhashedSuffixBytes?: number;
  readonly #serde: Serde<T>;
  readonly #topic: string;
  readonly #headers: RecordHeaders | null;
  #prepared: Uint8Array | null = null;

  /** `headers` are what is told when nothing else is. */
  constructor(serde: Serde<T>, topic: string, headers: RecordHeaders | null = null) {
    this.#serde = serde;
    this.#topic = topic;
    this.#headers = headers;
    this.name = serde.name;
    if (serde.isImmutable !== undefined) this.isImmutable = serde.isImmutable;
    this.isDetached = isDetached(serde);
    if (serde.mapKey !== undefined) {
      this.mapKey = (value) => keyed(serde).mapKey(value);
    }
    if (serde.snapshot !== undefined) this.snapshot = serde.snapshot;
    if (serde.fixedBytes !== undefined) this.fixedBytes = serde.fixedBytes;
    if (serde.unhashedSuffixBytes !== undefined) {
      this.unhashedSuffixBytes = serde.unhashedSuffixBytes;
    }
  }

  serialize(value: T, topic: string, headers: RecordHeaders | null): Uint8Array {
    return this.#serde.serialize(value, topic, headers);
  }

  deserialize(bytes: Uint8Array, topic: string, headers: RecordHeaders | null): T {
    return this.#serde.deserialize(bytes, topic, headers);
  }

  /** Serializes now what `write` will write until `release`. */
  prepare(value: T, topic: string, headers: RecordHeaders): void {
    this.#prepared = this.#serde.serialize(value, topic, headers);
  }

  release(): void {
    this.#prepared = null;
  }

  write(value: T, target: Buffer, position: number): number {
    const bytes = this.#prepared ?? this.#serde.serialize(value, this.#topic, this.#headers);
    if (bytes.length > target.length - position) return -1;
    target.set(bytes, position);
    return position + bytes.length;
  }

  read(source: Buffer, start: number, end: number, headers = this.#headers): T {
    return this.#serde.deserialize(source.subarray(start, end), this.#topic, headers);
  }

  /** A serde around this one, which is told what it is told. */
  within<R>(make: (inner: RecordSerde<T>) => RecordSerde<R>): CustomSerde<R> {
    return new CustomSerde(composite(this.#serde, make), this.#topic);
  }

  /** The same serde for another topic, such as one of several that a source reads. */
  forTopic(topic: string): CustomSerde<T> {
    return topic === this.#topic ? this : new CustomSerde(this.#serde, topic, this.#headers);
  }
}

function keyed<T>(serde: Serde<T>): Required<Pick<Serde<T>, 'mapKey'>> {
  return serde as Required<Pick<Serde<T>, 'mapKey'>>;
}

function hasBothForms<T>(serde: Serde<T>): serde is RecordSerde<T> {
  return serde.write !== undefined && serde.read !== undefined;
}

/** A serde as the record path wants it; `topic` is what a serde of the user's own is told. */
export function toRecordSerde<T>(serde: Serde<T>, topic: string): RecordSerde<T> {
  return hasBothForms(serde) ? serde : new CustomSerde(serde, topic);
}

/** What reads one topic, of a serde that was bound for several. */
export function forTopic<T>(serde: RecordSerde<T>, topic: string): RecordSerde<T> {
  return serde instanceof CustomSerde ? (serde as CustomSerde<T>).forTopic(topic) : serde;
}

/**
 * A serde made of another one. If the inner one is the user's own, the whole is made per call, so
 * that the inner one is told topic and headers.
 */
export function composite<I, T>(
  inner: Serde<I>,
  make: (inner: RecordSerde<I>) => RecordSerde<T>,
): Serde<T> {
  if (hasBothForms(inner)) return make(inner);
  const shape = make(new CustomSerde(inner, ''));
  return {
    name: shape.name,
    ...(shape.isImmutable === undefined ? {} : { isImmutable: shape.isImmutable }),
    isDetached: isDetached(shape),
    ...(shape.mapKey === undefined ? {} : { mapKey: (value: T) => keyed(shape).mapKey(value) }),
    ...(shape.fixedBytes === undefined ? {} : { fixedBytes: shape.fixedBytes }),
    ...(shape.unhashedSuffixBytes === undefined
      ? {}
      : { unhashedSuffixBytes: shape.unhashedSuffixBytes }),
    serialize: (value, topic, headers) =>
      make(new CustomSerde(inner, topic, headers)).serialize(value, topic, headers),
    deserialize(bytes, topic, headers) {
      const source = toBuffer(bytes);
      return make(new CustomSerde(inner, topic, headers)).read(source, 0, source.length, headers);
    },
  };
}
