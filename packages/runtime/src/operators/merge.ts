import type { RecordHeaders } from '@millrace/protocol';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/** `merge`. Forwards the records of both streams unchanged, in the order in which the task has them. */
export class MergeOperator extends ProcessorNode {
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
