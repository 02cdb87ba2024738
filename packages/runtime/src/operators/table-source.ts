import type { RecordHeaders } from '@millrace/protocol';
import type { KeyValueStore } from '../state/key-value-store.ts';
import type { TaskContext } from './task-context.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import { keyValueView } from './store-view.ts';
import type { TableSource, TableView } from './table.ts';

/** A table read from a topic. It has a store only if the user named one or another operator reads it. */
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

  enableSendingOldValues(_mustMaterialize: boolean): boolean {
    this.isMaterialized = true;
    this.sendsOldValues = true;
    return true;
  }
}

/**
 * `table(topic)`. Stores each record's value under its key, a null value deleting it, and forwards
 * the change: new value, old value (if anybody below asked for it), timestamp and headers of the
 * record. Without a store it only forwards. A null key is dropped and counted. A record older than
 * the row replaces it all the same, and a value equal to the stored one is forwarded, too.
 */
export class TableSourceOperator<K, V> extends ProcessorNode {
  readonly #table: SourceTable<K, V>;
  #store: KeyValueStore<K, V> | null = null;
  #context: TaskContext | null = null;

  constructor(name: string, table: SourceTable<K, V>) {
    super(name);
    this.#table = table;
  }

  override init(context: TaskContext): void {
    this.#context = context;
    if (this.#table.isMaterialized) {
      this.#store = context.store(this.#table.storeName) as KeyValueStore<K, V>;
    }
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
    if (store === null) return this.forward(key, value, null, timestamp, headers);
    const old = this.#table.sendsOldValues ? store.get(key as K) : null;
    store.put(key as K, value as V | null, timestamp);
    return this.forward(key, value, old, timestamp, headers);
  }
}
