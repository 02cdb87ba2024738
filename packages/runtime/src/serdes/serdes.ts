import type { RecordHeaders } from '@millrace/protocol';
import { json } from './json.ts';
import { list } from './list.ts';
import {
  bigintSerde,
  doubleSerde,
  floatSerde,
  integerSerde,
  longSerde,
  shortSerde,
} from './numbers.ts';
import type { RecordSerde, Serde } from './serde.ts';
import { booleanSerde, bytesSerde, voidSerde } from './simple.ts';
import { stringOf } from './string-encodings.ts';
import { uuidSerde } from './uuid.ts';
import { validated } from './validation.ts';
import { sessionWindowed, timeWindowed } from './windowed.ts';

/** What `serdes.custom` is made of. */
export interface CustomSerdeOptions<T> {
  /** Shown in errors; default "custom". */
  readonly name?: string | undefined;
  /** May add to `headers`, which are then sent with the record; they are null where there is no record. */
  readonly serialize: (value: T, topic: string, headers: RecordHeaders | null) => Uint8Array;
  /** `bytes` is a view of a fetched batch: copy what is kept. */
  readonly deserialize: (bytes: Uint8Array, topic: string, headers: RecordHeaders | null) => T;
  /** See `Serde.isImmutable`; default false. */
  readonly isImmutable?: boolean | undefined;
  /** See `Serde.isDetached`: true if `deserialize` keeps no view of its bytes; saves memory. Default false. */
  readonly isDetached?: boolean | undefined;
}

function custom<T>(options: CustomSerdeOptions<T>): Serde<T> {
  return {
    name: options.name ?? 'custom',
    serialize: options.serialize,
    deserialize: options.deserialize,
    isImmutable: options.isImmutable === true,
    isDetached: options.isDetached === true,
  };
}

/**
 * The built-in serdes; their bytes are those of Kafka's serializers of the same name. Bytes that are
 * none of theirs, and values of another type, are a `SerializationError`.
 */
export const serdes = {
  /** UTF-8, or another encoding by its Java name. */
  string: stringOf,
  /** 8 bytes, exact within ±(2^53 - 1); beyond that an error. */
  long: (): RecordSerde<number> => longSerde,
  /** 8 bytes, the whole range of Kafka's Long. */
  bigint: (): RecordSerde<bigint> => bigintSerde,
  integer: (): RecordSerde<number> => integerSerde,
  short: (): RecordSerde<number> => shortSerde,
  double: (): RecordSerde<number> => doubleSerde,
  float: (): RecordSerde<number> => floatSerde,
  boolean: (): RecordSerde<boolean> => booleanSerde,
  /** Canonical text form, as Kafka's UUIDSerializer. */
  uuid: (): RecordSerde<string> => uuidSerde,
  bytes: (): RecordSerde<Uint8Array> => bytesSerde,
  /** Always null. */
  void: (): RecordSerde<null> => voidSerde,
  list,
  json,
  validated,
  timeWindowed,
  sessionWindowed,
  /** Of two functions. */
  custom,
} as const;
