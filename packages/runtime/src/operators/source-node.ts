import type { RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../serdes/serde.ts';
import type { Awaitable } from './outcome.ts';
import type { ProcessorNode } from './processor-node.ts';

/** A record as a timestamp extractor sees it; valid until the extractor has answered. */
export interface ExtractedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  /** Its own time, epoch ms; negative if it has none. */
  readonly timestamp: number;
  readonly key: unknown;
  readonly value: unknown;
  readonly headers: RecordHeaders | null;
  /** Wall-clock time of the task, epoch ms. */
  readonly systemTimeMs: number;
}

/**
 * Returns the record's time in epoch ms; a negative time drops the record (its offset still counts).
 * `partitionTime` is the highest time seen in the partition, -1 if none. For the time of a promise the
 * task waits: it might be the earliest.
 */
export type TimestampExtractor = (
  record: ExtractedRecord,
  partitionTime: number,
) => Awaitable<number>;

/** A source node as the task's record queues see it: how its records are read. */
export interface SourceNode extends ProcessorNode {
  readonly topics: readonly string[];
  readonly keySerde: RecordSerde<unknown>;
  readonly valueSerde: RecordSerde<unknown>;
  /** null: the default extractor, which takes the record's own time and fails on a negative one. */
  readonly timestampExtractor: TimestampExtractor | null;
}
