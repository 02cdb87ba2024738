import type { RecordHeaders } from '@millrace/protocol';
import { Windowed } from '../serdes/windowed-key.ts';
import type { WindowStore } from '../state/window-store.ts';
import type { TaskContext } from './task-context.ts';
import { ChangeForwarder } from './change-forwarder.ts';
import { oldValue, plusOne, type Aggregator, type Initializer } from './aggregate.ts';
import { isPromise } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import { windowView } from './store-view.ts';
import type { TableSource, TableView } from './table.ts';

/** Tumbling (advance = size) and hopping windows, aligned to epoch 0, `[start, end)`. */
export interface WindowShape {
  readonly sizeMs: number;
  readonly advanceMs: number;
  readonly graceMs: number;
}

/** What a windowed aggregation is to other operators: the contents of its store. */
export class WindowAggregateTable<K, A> implements TableSource<Windowed<K>, A> {
  readonly storeName: string;
  sendsOldValues = false;

  constructor(storeName: string) {
    this.storeName = storeName;
  }

  view(): TableView<Windowed<K>, A> {
    return windowView(this.storeName);
  }

  enableSendingOldValues(_mustMaterialize: boolean): boolean {
    this.sendsOldValues = true;
    return true;
  }
}

/**
 * `count`, `reduce` and `aggregate` in time windows. A record is put into every window that holds its
 * timestamp, earliest first; for each, the aggregator's result goes into the store and the change is
 * forwarded under the windowed key: new value, old value if anybody below asked for it, the higher
 * of record's and row's timestamp, the record's headers. A window is closed, and the record dropped
 * for it and counted, once its end is at or before stream time - grace; stream time is this
 * operator's own, the record in hand included. A null key is dropped and counted; a null value is
 * put to the aggregator. A result of null deletes the row and is forwarded as such.
 */
export class WindowAggregateOperator<K, V, A> extends ProcessorNode {
  readonly #windows: WindowShape;
  readonly #table: WindowAggregateTable<K, A>;
  readonly #initializer: Initializer<A>;
  readonly #aggregator: Aggregator<K, V, A>;
  #store: WindowStore<K, A> | null = null;
  #forwarder: ChangeForwarder<Windowed<K>, A> | null = null;
  #context: TaskContext | null = null;
  #streamTime = -1;

  constructor(
    name: string,
    windows: WindowShape,
    table: WindowAggregateTable<K, A>,
    initializer: Initializer<A>,
    aggregator: Aggregator<K, V, A>,
  ) {
    super(name);
    this.#windows = windows;
    this.#table = table;
    this.#initializer = initializer;
    this.#aggregator = aggregator;
  }

  override get ignoresValues(): boolean {
    return this.#aggregator === (plusOne as unknown);
  }

  override init(context: TaskContext): void {
    this.#context = context;
    const store = context.store(this.#table.storeName) as WindowStore<K, A>;
    this.#store = store;
    this.#forwarder = new ChangeForwarder<Windowed<K>, A>(
      store,
      this.#table.sendsOldValues,
      (key, value, old, timestamp, headers) =>
        this.children.forward(key, value, old, timestamp, headers),
    );
    this.#streamTime = -1;
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
    if (timestamp > this.#streamTime) this.#streamTime = timestamp;
    const { sizeMs, advanceMs, graceMs } = this.#windows;
    const closeTime = this.#streamTime - graceMs;
    let start = Math.floor(Math.max(0, timestamp - sizeMs + advanceMs) / advanceMs) * advanceMs;
    for (; start <= timestamp; start += advanceMs) {
      const outcome = this.#window(start, closeTime, key as K, value as V, timestamp, headers);
      if (outcome !== undefined) {
        const next = start + advanceMs;
        if (next > timestamp) return outcome;
        return this.#otherWindows(
          outcome,
          next,
          closeTime,
          key as K,
          value as V,
          timestamp,
          headers,
        );
      }
    }
    return undefined;
  }

  async #otherWindows(
    first: Promise<void>,
    from: number,
    closeTime: number,
    key: K,
    value: V,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await first;
    for (let start = from; start <= timestamp; start += this.#windows.advanceMs) {
      await this.#window(start, closeTime, key, value, timestamp, headers);
    }
  }

  #window(
    start: number,
    closeTime: number,
    key: K,
    value: V,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (start + this.#windows.sizeMs <= closeTime) {
      this.#context?.recordDropped(this.name, 'its window has closed', headers);
      return undefined;
    }
    const store = this.#store as WindowStore<K, A>;
    const found = store.get(key, start);
    if (found !== null) {
      const newest = Math.max(timestamp, store.foundTimestamp);
      return this.#aggregate(start, key, value, found, newest, timestamp, headers);
    }
    const initial = this.#initializer();
    if (isPromise(initial)) {
      return this.#aggregateLater(initial, start, key, value, timestamp, headers);
    }
    return this.#aggregate(start, key, value, initial, timestamp, timestamp, headers);
  }

  #aggregate(
    start: number,
    key: K,
    value: V,
    aggregate: A,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const result = this.#aggregator(key, value, aggregate);
    if (isPromise(result)) {
      return this.#updateLater(result, start, key, aggregate, newest, timestamp, headers);
    }
    return this.#update(start, key, result ?? null, aggregate, newest, timestamp, headers);
  }

  #update(
    start: number,
    key: K,
    result: A | null,
    aggregate: A,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const store = this.#store as WindowStore<K, A>;
    const old = this.#table.sendsOldValues
      ? oldValue(store.get(key, start), aggregate, result)
      : null;
    // A tombstone in the changelog has the time of the record that made it.
    store.put(key, result, start, result === null ? timestamp : newest, headers);
    const windowed = new Windowed(key, start, start + this.#windows.sizeMs);
    const forwarder = this.#forwarder as ChangeForwarder<Windowed<K>, A>;
    return forwarder.changed(windowed, result, old, newest, headers);
  }

  async #aggregateLater(
    pending: PromiseLike<A>,
    start: number,
    key: K,
    value: V,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#aggregate(start, key, value, await pending, timestamp, timestamp, headers);
  }

  async #updateLater(
    pending: PromiseLike<A | null>,
    start: number,
    key: K,
    aggregate: A,
    newest: number,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#update(start, key, (await pending) ?? null, aggregate, newest, timestamp, headers);
  }
}
