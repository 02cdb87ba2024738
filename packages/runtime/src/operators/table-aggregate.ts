import type { RecordHeaders } from '@millrace/protocol';
import { ProcessingError } from '../errors.ts';
import type { Change } from '../serdes/change.ts';
import type { Aggregator, Initializer } from './aggregate.ts';
import { AggregateTable } from './aggregate.ts';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import { TableStore } from './table-store.ts';
import type { TaskContext } from './task-context.ts';

/** The functions of an aggregation of a grouped table; the subtractor undoes what the adder did. */
export interface TableAggregation<K, V, A> {
  readonly initializer: Initializer<A>;
  readonly adder: Aggregator<K, V, A>;
  readonly subtractor: Aggregator<K, V, A>;
}

export function minusOne(_key: unknown, _value: unknown, count: number): number {
  return count - 1;
}

/**
 * `count`, `reduce` and `aggregate` of a grouped table. Reads changes from the repartition topic: the
 * old value is taken out of the aggregate of its key first, if there is one; then the new value is
 * added, to the initial aggregate if there is none (left). The result goes into the store and is
 * forwarded: new aggregate, old one if anybody below asked for it, the higher of record's and row's
 * timestamp, the record's headers. A result of null deletes the row and is forwarded as such, also if
 * there was none. A null key is an error.
 */
export class TableAggregateOperator<K, V, A> extends ProcessorNode {
  readonly #table: AggregateTable<K, A>;
  readonly #aggregation: TableAggregation<K, V, A>;
  #store: TableStore<K, A> | null = null;
  #context: TaskContext | null = null;

  constructor(name: string, table: AggregateTable<K, A>, aggregation: TableAggregation<K, V, A>) {
    super(name);
    this.#table = table;
    this.#aggregation = aggregation;
  }

  override init(context: TaskContext): void {
    const { storeName, sendsOldValues } = this.#table;
    this.#context = context;
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
    if (key === null) {
      throw new ProcessingError(
        `The node ${this.name} with the store ${this.#table.storeName} got a change without a key.`,
      );
    }
    if (value === null) {
      this.#context?.recordDropped(this.name, 'its value is null, which is no change', headers);
      return undefined;
    }
    const store = this.#store as TableStore<K, A>;
    const before = store.get(key as K);
    const newest = before === null ? timestamp : Math.max(timestamp, store.foundTimestamp);
    const { newValue, oldValue } = value as Change<V>;
    const result = this.#result(key as K, newValue, oldValue, before);
    if (isPromise(result)) {
      return this.#updateLater(result, key as K, before, newest, timestamp, headers);
    }
    return this.#update(key as K, result ?? null, before, newest, timestamp, headers);
  }

  #result(
    key: K,
    newValue: V | null,
    oldValue: V | null,
    before: A | null,
  ): Awaitable<A | null | undefined> {
    if (oldValue === null || before === null) return this.#added(key, newValue, before);
    const rest = this.#aggregation.subtractor(key, oldValue, before);
    if (isPromise(rest)) return this.#addedLater(rest, key, newValue);
    return this.#added(key, newValue, rest ?? null);
  }

  #added(key: K, value: V | null, aggregate: A | null): Awaitable<A | null> {
    if (value === null) return aggregate;
    if (aggregate !== null) return this.#aggregation.adder(key, value, aggregate);
    const initial = this.#aggregation.initializer();
    if (isPromise(initial)) return this.#addedToInitial(initial, key, value);
    return this.#aggregation.adder(key, value, initial);
  }

  #update(
    key: K,
    result: A | null,
    before: A | null,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const store = this.#store as TableStore<K, A>;
    let old = this.#table.sendsOldValues ? before : null;
    // The functions may have changed that very object; the store still has it as it was.
    if (typeof old === 'object' && old !== null) old = store.get(key);
    return store.update(key, result, old, newest, timestamp, headers);
  }

  async #addedLater(
    pending: PromiseLike<A | null>,
    key: K,
    newValue: V | null,
  ): Promise<A | null | undefined> {
    return this.#added(key, newValue, (await pending) ?? null);
  }

  async #addedToInitial(pending: PromiseLike<A>, key: K, value: V): Promise<A | null> {
    return this.#aggregation.adder(key, value, await pending);
  }

  async #updateLater(
    pending: PromiseLike<A | null | undefined>,
    key: K,
    before: A | null,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#update(key, (await pending) ?? null, before, newest, timestamp, headers);
  }
}
