import type { RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../serdes/serde.ts';
import type { SourceNode, TimestampExtractor } from './source-node.ts';
import { presenceSerde } from '../serdes/presence.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/**
 * Reads topics. Forwards each record as it is: key, value (nulls included), extracted timestamp,
 * headers.
 */
export class SourceOperator extends ProcessorNode implements SourceNode {
  readonly topics: readonly string[];
  readonly keySerde: RecordSerde<unknown>;
  valueSerde: RecordSerde<unknown>;
  readonly timestampExtractor: TimestampExtractor | null;

  constructor(
    name: string,
    topics: readonly string[],
    keySerde: RecordSerde<unknown>,
    valueSerde: RecordSerde<unknown>,
    timestampExtractor: TimestampExtractor | null,
  ) {
    super(name);
    this.topics = topics;
    this.keySerde = keySerde;
    this.valueSerde = valueSerde;
    this.timestampExtractor = timestampExtractor;
  }

  /** Once the children are known: values that none of them looks at are not read. */
  skipIgnoredValues(): void {
    const { children, valueSerde, timestampExtractor } = this;
    if (valueSerde.readsAnything !== true || timestampExtractor !== null) return;
    if (children.length > 0 && children.every((child) => child.ignoresValues)) {
      this.valueSerde = presenceSerde;
    }
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    return this.forward(key, value, old, timestamp, headers);
  }
}
