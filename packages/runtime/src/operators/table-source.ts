import type { RecordHeaders } from '@millrace/protocol';
import type { TaskContext } from './task-context.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import { keyValueView } from './store-view.ts';
import type { TableSource, TableView } from './table.ts';
import { TableStore } from './table-store.ts';

/** A table of a topic's or a stream's records. It has a store only if the user named one or another operator reads it. */
export class SourceTable<K, V> implements TableSource<K, V> {
  readonly storeName: string;
  isMaterialized: boolean;
  sendsOldValues = false;

  constructor(storeName: string, isMaterialized: boolean) {
    this.storeName = storeName;
    this.isMaterialized = isMaterialized;
  }

  view(): TableView<K, V> {
    this.isMaterialized = true;
    return keyValueView(this.storeName);
  }

  enableSendingOldValues(mustMaterialize: boolean): boolean {
    if (!mustMaterialize && !this.isMaterialized) return false;
    this.isMaterialized = true;
    this.sendsOldValues = true;
    return true;
  }
}

/**
 * `table(topic)` and `toTable`. Stores each record's value under its key, a null value deleting it, and
 * forwards the change: new value, old value (if anybody below asked for it), timestamp and headers of
 * the record. Without a store it only forwards. A null key is dropped and counted. A record older
 * than the row replaces it all the same, and a value equal to the stored one is forwarded, too.
 * With a versioned store an older record goes into its history and is forwarded as a late change; one
 * that is older than the history is not forwarded.
 */
export class TableSourceOperator<K, V> extends ProcessorNode {
  readonly #table: SourceTable<K, V>;
  #store: TableStore<K, V> | null = null;
  #context: TaskContext | null = null;

  constructor(name: string, table: SourceTable<K, V>) {
    super(name);
    this.#table = table;
  }

  override init(context: TaskContext): void {
    this.#context = context;
    const { isMaterialized, storeName, sendsOldValues } = this.#table;
    if (!isMaterialized) return;
    this.#store = new TableStore<K, V>(
      context.store(storeName),
      sendsOldValues,
      (key, value, old, timestamp, headers, isLatest) =>
        this.children.forward(key, value, old, timestamp, headers, isLatest),
    );
  }

  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (key === null) {
      this.#context?.recordDropped(this.name, 'its key is null', headers);
      return undefined;
    }
    const store = this.#store;
    if (store === null) return this.children.forward(key, value, null, timestamp, headers);
    const old = this.#table.sendsOldValues ? store.get(key as K) : null;
    return store.update(key as K, value as V | null, old, timestamp, timestamp, headers);
  }
}
