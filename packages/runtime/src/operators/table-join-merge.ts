import type { RecordHeaders } from '@millrace/protocol';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import type { JoinedTable } from './table-join.ts';
import { TableStore } from './table-store.ts';
import type { TaskContext } from './task-context.ts';

/**
 * Brings the two sides of a join of tables together. Forwards their changes unchanged; a stored result
 * is written first.
 */
export class TableJoinMergeOperator<K, VR> extends ProcessorNode {
  readonly #table: JoinedTable<K, unknown, unknown, VR>;
  #store: TableStore<K, VR> | null = null;

  constructor(name: string, table: JoinedTable<K, unknown, unknown, VR>) {
    super(name);
    this.#table = table;
  }

  override init(context: TaskContext): void {
    const { storeName, sendsOldValues } = this.#table;
    if (storeName === null) return;
    this.#store = new TableStore<K, VR>(
      context.store(storeName),
      sendsOldValues,
      (key, value, old, timestamp, headers, isLatest) =>
        this.children.forward(key, value, old, timestamp, headers, isLatest),
    );
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest = true,
  ): Outcome {
    if (this.#store === null) {
      return this.children.forward(key, value, old, timestamp, headers, isLatest);
    }
    return this.#store.update(
      key as K,
      value as VR | null,
      old as VR | null,
      timestamp,
      timestamp,
      headers,
    );
  }
}
