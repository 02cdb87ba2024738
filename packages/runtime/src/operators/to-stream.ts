import type { RecordHeaders } from '@millrace/protocol';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/**
 * `table.toStream`. Forwards each change's new value (null where the row was deleted) as a record of
 * a stream; key, timestamp and headers stay.
 */
export class ToStreamOperator extends ProcessorNode {
  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    return this.children.forward(key, value, null, timestamp, headers);
  }
}
