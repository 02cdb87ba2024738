import { InvariantError } from '../errors.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import { isVersionedStore, type VersionedKeyValueStore } from '../state/versioned-store.ts';
import type { WindowStore } from '../state/window-store.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
import type { TaskContext } from './task-context.ts';
import type { TableView, ValueGetter } from './table.ts';

class KeyValueGetter<K, V> implements ValueGetter<K, V> {
  readonly #storeName: string;
  #store: KeyValueStore<K, V> | null = null;
  #versioned: VersionedKeyValueStore<K, V> | null = null;

  constructor(storeName: string) {
    this.#storeName = storeName;
  }

  get isVersioned(): boolean {
    return this.#versioned !== null;
  }

  init(context: TaskContext): void {
    const store = context.store(this.#storeName);
    // What is read alike is read through this.
    this.#store = store as KeyValueStore<K, V>;
    this.#versioned = isVersionedStore(store)
      ? (store as unknown as VersionedKeyValueStore<K, V>)
      : null;
  }

  get(key: K): V | null {
    return (this.#store as KeyValueStore<K, V>).get(key);
  }

  getAsOf(key: K, timestamp: number): V | null {
    if (this.#versioned === null) throw noHistory(this.#storeName);
    return this.#versioned.getAsOf(key, timestamp);
  }

  get foundTimestamp(): number {
    return (this.#store as KeyValueStore<K, V>).foundTimestamp;
  }
}

class WindowGetter<K, V> implements ValueGetter<Windowed<K>, V> {
  readonly isVersioned = false;
  readonly #storeName: string;
  #store: WindowStore<K, V> | null = null;

  constructor(storeName: string) {
    this.#storeName = storeName;
  }

  init(context: TaskContext): void {
    this.#store = context.store(this.#storeName) as WindowStore<K, V>;
  }

  get(key: Windowed<K>): V | null {
    return (this.#store as WindowStore<K, V>).get(key.key, key.start);
  }

  getAsOf(): never {
    throw noHistory(this.#storeName);
  }

  get foundTimestamp(): number {
    return (this.#store as WindowStore<K, V>).foundTimestamp;
  }
}

/** A table that is the contents of a key-value or versioned store. */
export function keyValueView<K, V>(storeName: string): TableView<K, V> {
  return { storeNames: [storeName], create: () => new KeyValueGetter(storeName) };
}

/** A windowed table that is the contents of a window store. */
export function windowView<K, V>(storeName: string): TableView<Windowed<K>, V> {
  return { storeNames: [storeName], create: () => new WindowGetter(storeName) };
}

function noHistory(storeName: string): InvariantError {
  return new InvariantError(`The store ${storeName} keeps no history.`);
}
