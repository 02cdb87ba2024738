import type { RecordSerde } from '../serdes/serde.ts';
import type { ProcessorNode } from './processor-node.ts';

/** A record as a timestamp extractor sees it. */
export interface ExtractedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly timestamp: number;
  readonly key: unknown;
  readonly value: unknown;
}

/**
 * Returns the record's time in epoch ms; a negative time drops the record (its offset still counts).
 * `partitionTime` is the highest time seen in the partition, -1 if none.
 */
export type TimestampExtractor = (record: ExtractedRecord, partitionTime: number) => number;

/** A source node as the task's record queues see it: how its records are read. */
export interface SourceNode extends ProcessorNode {
  readonly topics: readonly string[];
  readonly keySerde: RecordSerde<unknown>;
  readonly valueSerde: RecordSerde<unknown>;
  /** null: the default extractor, which takes the record's own time and fails on a negative one. */
  readonly timestampExtractor: TimestampExtractor | null;
}
