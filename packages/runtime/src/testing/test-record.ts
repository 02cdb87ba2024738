import type { RecordHeaders } from '@millrace/protocol';
import type { Duration } from '../duration.ts';
import type { Serde } from '../serdes/serde.ts';

/** A record as a test reads it. */
export interface TestRecord<K, V> {
  readonly key: K | null;
  readonly value: V | null;
  /** Epoch ms; -1 if it was written without one, so that the producer would give it the time of the call. */
  readonly timestamp: number;
  /** Empty if it has none. */
  readonly headers: RecordHeaders;
  readonly partition: number;
}

/** A record as a test gives it. */
export interface PipedRecord<K, V> extends PipeOptions {
  readonly key?: K | null | undefined;
  readonly value: V | null;
}

export interface PipeOptions {
  /** Epoch ms, or a Date. Default: the topic's own time, which `autoAdvance` moves on. */
  readonly timestamp?: number | Date | undefined;
  readonly headers?: RecordHeaders | undefined;
  /** Default: as a producer chooses it, by the key's bytes; without a key round robin. */
  readonly partition?: number | undefined;
}

export interface TopicSerdes<K, V> {
  readonly key: Serde<K>;
  readonly value: Serde<V>;
}

export interface InputTopicOptions<K, V> extends TopicSerdes<K, V> {
  /** Time of the first record that is given none, epoch ms or a Date; default: the driver's wall clock. */
  readonly startTimestamp?: number | Date | undefined;
  /** How far that time moves on after each such record; default 0. */
  readonly autoAdvance?: Duration | undefined;
}

/** Epoch ms. */
export function epochMs(time: number | Date): number {
  return typeof time === 'number' ? time : time.getTime();
}
