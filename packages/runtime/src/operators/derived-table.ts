import type { RecordHeaders } from '@millrace/protocol';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import { keyValueView } from './store-view.ts';
import type { TableSource, TableView, ValueGetter } from './table.ts';
import { TableStore } from './table-store.ts';
import type { TaskContext } from './task-context.ts';

/** A new value out of a table's value under the same key; null stands for no row on both sides. */
export type Derive<K, V, VR> = (key: K, value: V | null) => Awaitable<VR | null>;

/**
 * A table whose rows follow from its parent's, one by one. To other operators it is its store, or, if
 * it has none, its parent seen through the function.
 */
export class DerivedTable<K, V, VR> implements TableSource<K, VR> {
  /** null: not stored. */
  readonly storeName: string | null;
  readonly #parent: TableSource<K, V>;
  readonly #getter: (parent: ValueGetter<K, V>) => ValueGetter<K, VR>;
  sendsOldValues = false;

  constructor(
    parent: TableSource<K, V>,
    storeName: string | null,
    getter: (parent: ValueGetter<K, V>) => ValueGetter<K, VR>,
  ) {
    this.#parent = parent;
    this.storeName = storeName;
    this.#getter = getter;
  }

  view(): TableView<K, VR> {
    if (this.storeName !== null) return keyValueView(this.storeName);
    const parent = this.#parent.view();
    return { storeNames: parent.storeNames, create: () => this.#getter(parent.create()) };
  }

  enableSendingOldValues(mustMaterialize: boolean): boolean {
    if (this.storeName !== null || this.#parent.enableSendingOldValues(mustMaterialize)) {
      this.sendsOldValues = true;
    }
    return this.sendsOldValues;
  }
}

/** Reads the parent's row and derives the value from it each time. */
export class DerivedGetter<K, V, VR> implements ValueGetter<K, VR> {
  readonly #parent: ValueGetter<K, V>;
  readonly #derive: Derive<K, V, VR>;
  foundTimestamp = -1;

  constructor(parent: ValueGetter<K, V>, derive: Derive<K, V, VR>) {
    this.#parent = parent;
    this.#derive = derive;
  }

  get isVersioned(): boolean {
    return this.#parent.isVersioned;
  }

  init(context: TaskContext): void {
    this.#parent.init(context);
  }

  start(): Outcome {
    return this.#parent.start?.();
  }

  get(key: K): Awaitable<VR | null> {
    return this.#derived(key, this.#parent.get(key));
  }

  getAsOf(key: K, timestamp: number): Awaitable<VR | null> {
    return this.#derived(key, this.#parent.getAsOf(key, timestamp));
  }

  close(): unknown {
    return this.#parent.close?.();
  }

  #derived(key: K, value: Awaitable<V | null>): Awaitable<VR | null> {
    if (isPromise(value)) return this.#later(key, value);
    const timestamp = this.#parent.foundTimestamp;
    const derived = this.#derive(key, value);
    if (isPromise(derived)) return this.#found(derived, timestamp);
    this.foundTimestamp = derived === null ? -1 : timestamp;
    return derived;
  }

  async #later(key: K, pending: PromiseLike<V | null>): Promise<VR | null> {
    const value = await pending;
    const timestamp = this.#parent.foundTimestamp;
    return this.#found(this.#derive(key, value), timestamp);
  }

  async #found(pending: Awaitable<VR | null>, timestamp: number): Promise<VR | null> {
    const derived = await pending;
    this.foundTimestamp = derived === null ? -1 : timestamp;
    return derived;
  }
}

/**
 * The node of a derived table. Derives the new value, then, if somebody below asked for old values,
 * the old one: what the store holds, or derived as well if there is no store. Key, timestamp and
 * headers stay.
 */
export class DerivedTableOperator<K, V, VR> extends ProcessorNode {
  readonly #table: DerivedTable<K, V, VR>;
  readonly #derive: Derive<K, V, VR>;
  #store: TableStore<K, VR> | null = null;

  constructor(name: string, table: DerivedTable<K, V, VR>, derive: Derive<K, V, VR>) {
    super(name);
    this.#table = table;
    this.#derive = derive;
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
    const derived = this.#derive(key as K, value as V | null);
    if (isPromise(derived)) {
      return this.#later(derived, key as K, old as V | null, timestamp, headers, isLatest);
    }
    const derivedOld = this.#oldValue(key as K, old as V | null);
    if (isPromise(derivedOld)) {
      return this.#oldLater(derived, derivedOld, key as K, timestamp, headers, isLatest);
    }
    return this.#changed(key as K, derived, derivedOld, timestamp, headers, isLatest);
  }

  /** A change that need not be passed on. */
  protected leavesOut(_value: VR | null, _old: VR | null): boolean {
    return false;
  }

  #oldValue(key: K, old: V | null): Awaitable<VR | null> {
    if (!this.#table.sendsOldValues) return null;
    return this.#store === null ? this.#derive(key, old) : this.#store.get(key);
  }

  #changed(
    key: K,
    value: VR | null,
    old: VR | null,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest: boolean,
  ): Outcome {
    if (this.leavesOut(value, old)) return undefined;
    if (this.#store === null) {
      return this.children.forward(key, value, old, timestamp, headers, isLatest);
    }
    return this.#store.update(key, value, old, timestamp, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<VR | null>,
    key: K,
    old: V | null,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest: boolean,
  ): Promise<void> {
    const derived = await pending;
    const derivedOld = await this.#oldValue(key, old);
    await this.#changed(key, derived, derivedOld, timestamp, headers, isLatest);
  }

  async #oldLater(
    derived: VR | null,
    pending: PromiseLike<VR | null>,
    key: K,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest: boolean,
  ): Promise<void> {
    await this.#changed(key, derived, await pending, timestamp, headers, isLatest);
  }
}
