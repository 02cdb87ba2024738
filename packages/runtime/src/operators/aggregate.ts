import type { RecordHeaders } from '@millrace/protocol';
import type { TaskContext } from './task-context.ts';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import { keyValueView } from './store-view.ts';
import type { TableSource, TableView } from './table.ts';
import { TableStore } from './table-store.ts';

export type Initializer<A> = () => Awaitable<A>;
export type Aggregator<K, V, A> = (key: K, value: V, aggregate: A) => Awaitable<A | null>;
export type Reducer<V> = (aggregate: V, value: V) => Awaitable<V | null>;

/** What an aggregation is to other operators: the contents of its store. */
export class AggregateTable<K, A> implements TableSource<K, A> {
  readonly storeName: string;
  sendsOldValues = false;

  constructor(storeName: string) {
    this.storeName = storeName;
  }

  view(): TableView<K, A> {
    return keyValueView(this.storeName);
  }

  enableSendingOldValues(_mustMaterialize: boolean): boolean {
    this.sendsOldValues = true;
    return true;
  }
}

/** `reduce` as an aggregation that begins with nothing: the first value is the first aggregate. */
export function reducing<K, V>(reducer: Reducer<V>): Aggregator<K, V, V | null> {
  return (_key, value, aggregate) => (aggregate === null ? value : reducer(aggregate, value));
}

export function nothing(): null {
  return null;
}

export function zero(): number {
  return 0;
}

export function plusOne(_key: unknown, _value: unknown, count: number): number {
  return count + 1;
}

/**
 * `count`, `reduce` and `aggregate` of a grouped stream. For each record: the aggregate of its key (or
 * the initial one), the aggregator's result into the store, and the change forwarded: new value, old
 * value if anybody below asked for it, the higher of record's and row's timestamp, the record's
 * headers. A result of null deletes the row and is forwarded as such. A record whose key or value is
 * null is dropped and counted.
 */
export class AggregateOperator<K, V, A> extends ProcessorNode {
  readonly #table: AggregateTable<K, A>;
  readonly #initializer: Initializer<A>;
  readonly #aggregator: Aggregator<K, V, A>;
  #store: TableStore<K, A> | null = null;
  #context: TaskContext | null = null;

  constructor(
    name: string,
    table: AggregateTable<K, A>,
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
  ) {
    super(name);
    this.#table = table;
    this.#initializer = initializer;
    this.#aggregator = aggregator;
  }

  override get ignoresValues(): boolean {
    return this.#aggregator === (plusOne as unknown);
  }

  override init(context: TaskContext): void {
    this.#context = context;
    const { storeName, sendsOldValues } = this.#table;
    this.#store = new TableStore<K, A>(
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
    if (key === null || value === null) {
      this.#context?.recordDropped(this.name, 'its key or value is null', headers);
      return undefined;
    }
    const store = this.#store as TableStore<K, A>;
    const found = store.get(key as K);
    if (found !== null) {
      const newest = Math.max(timestamp, store.foundTimestamp);
      return this.#aggregate(key as K, value as V, found, newest, timestamp, headers);
    }
    const initial = this.#initializer();
    if (isPromise(initial)) {
      return this.#aggregateLater(initial, key as K, value as V, timestamp, headers);
    }
    return this.#aggregate(key as K, value as V, initial, timestamp, timestamp, headers);
  }

  #aggregate(
    key: K,
    value: V,
    aggregate: A,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const result = this.#aggregator(key, value, aggregate);
    if (isPromise(result)) {
      return this.#updateLater(result, key, aggregate, newest, timestamp, headers);
    }
    return this.#update(key, result ?? null, aggregate, newest, timestamp, headers);
  }

  #update(
    key: K,
    result: A | null,
    aggregate: A,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const store = this.#store as TableStore<K, A>;
    const old = this.#table.sendsOldValues ? oldValue(store.get(key), aggregate, result) : null;
    return store.update(key, result, old, newest, timestamp, headers);
  }

  async #aggregateLater(
    pending: PromiseLike<A>,
    key: K,
    value: V,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#aggregate(key, value, await pending, timestamp, timestamp, headers);
  }

  async #updateLater(
    pending: PromiseLike<A | null>,
    key: K,
    aggregate: A,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#update(key, (await pending) ?? null, aggregate, newest, timestamp, headers);
  }
}

/**
 * The old value of an aggregate's change. Where there was no row it is the initial value, as in
 * Kafka Streams, unless the aggregator changed that very object.
 */
export function oldValue<A>(stored: A | null, aggregate: A, result: A | null): A | null {
  if (stored !== null) return stored;
  return typeof aggregate === 'object' && aggregate === result ? null : aggregate;
}
