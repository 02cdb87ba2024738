import type { RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../serdes/serde.ts';

/** Appends to one partition; what a changelog writes to. The key is bytes already. */
export interface PartitionAppender {
  /** A negative timestamp is left to the producer. */
  append<V>(
    timestamp: number,
    keySource: Buffer,
    keyStart: number,
    keyEnd: number,
    value: V | null,
    valueSerde: RecordSerde<V>,
    headers: RecordHeaders | null,
  ): void;
}
