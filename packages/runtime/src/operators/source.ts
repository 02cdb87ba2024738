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
    const { valueSerde, timestampExtractor } = this;
    const { nodes } = this.children;
    if (valueSerde.readsAnything !== true || timestampExtractor !== null) return;
    if (nodes.length > 0 && nodes.every((child) => child.ignoresValues)) {
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
    return this.children.forward(key, value, old, timestamp, headers);
  }
}
