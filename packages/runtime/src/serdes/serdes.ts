import { json } from './json.ts';
import {
  bigintSerde,
  doubleSerde,
  floatSerde,
  integerSerde,
  longSerde,
  shortSerde,
} from './numbers.ts';
import type { RecordSerde } from './serde.ts';
import { booleanSerde, bytesSerde, uuidSerde, voidSerde } from './simple.ts';
import { stringSerde } from './string.ts';
import { timeWindowed } from './windowed.ts';

/** The built-in serdes; their bytes are those of Kafka's serializers of the same name. */
export const serdes = {
  string: (): RecordSerde<string> => stringSerde,
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
  json,
  timeWindowed,
} as const;
