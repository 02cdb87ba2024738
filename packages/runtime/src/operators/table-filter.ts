import { DerivedGetter, DerivedTable, DerivedTableOperator, type Derive } from './derived-table.ts';
import type { Predicate } from './filter.ts';
import { isPromise } from './outcome.ts';
import type { TableSource } from './table.ts';

/** What a filtered table is to other operators. */
export class FilteredTable<K, V> extends DerivedTable<K, V, V> {
  readonly derive: Derive<K, V, V>;
  /** The parent is versioned (KIP-914): a late change must not be taken for one that changes nothing. */
  isParentVersioned = false;

  constructor(
    parent: TableSource<K, V>,
    predicate: Predicate<K, V>,
    isNegated: boolean,
    storeName: string | null,
  ) {
    const derive = keeping(predicate, !isNegated);
    super(parent, storeName, (getter) => new DerivedGetter(getter, derive));
    this.derive = derive;
    // Old values spare tombstones, but are not worth a store.
    this.sendsOldValues = parent.enableSendingOldValues(false);
  }
}

function keeping<K, V>(predicate: Predicate<K, V>, wanted: boolean): Derive<K, V, V> {
  const later = async (pending: PromiseLike<boolean>, value: V): Promise<V | null> =>
    ((await pending) ? wanted : !wanted) ? value : null;
  return (key, value) => {
    if (value === null) return null;
    const verdict = predicate(key, value);
    if (isPromise(verdict)) return later(verdict, value);
    return (verdict ? wanted : !wanted) ? value : null;
  };
}

/**
 * `filter` and `filterNot` of a table. Forwards each change with the new value if the predicate keeps
 * it, else as a tombstone; key, timestamp and headers stay. Tombstones are not put to the predicate.
 * Where old values are at hand (the parent is stored, or somebody below asked for them) a change
 * from nothing to nothing is left out; elsewhere tombstones come for keys that were never passed.
 */
export class TableFilterOperator<K, V> extends DerivedTableOperator<K, V, V> {
  readonly #filtered: FilteredTable<K, V>;

  constructor(name: string, table: FilteredTable<K, V>) {
    super(name, table, table.derive);
    this.#filtered = table;
  }

  protected override leavesOut(value: V | null, old: V | null): boolean {
    const { sendsOldValues, isParentVersioned } = this.#filtered;
    return value === null && old === null && sendsOldValues && !isParentVersioned;
  }
}
