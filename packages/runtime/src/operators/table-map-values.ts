import { DerivedGetter, DerivedTable, DerivedTableOperator, type Derive } from './derived-table.ts';
import type { ValueMapper } from './map-values.ts';
import { isPromise } from './outcome.ts';
import type { TableSource } from './table.ts';

/** What a table with mapped values is to other operators. */
export class MappedTable<K, V, VR> extends DerivedTable<K, V, VR> {
  readonly derive: Derive<K, V, VR>;

  constructor(parent: TableSource<K, V>, mapper: ValueMapper<K, V, VR>, storeName: string | null) {
    const derive = mapping(mapper);
    super(parent, storeName, (getter) => new DerivedGetter(getter, derive));
    this.derive = derive;
  }
}

function mapping<K, V, VR>(mapper: ValueMapper<K, V, VR>): Derive<K, V, VR> {
  const later = async (pending: PromiseLike<VR>): Promise<VR | null> => (await pending) ?? null;
  return (key, value) => {
    if (value === null) return null;
    const mapped = mapper(value, key);
    return isPromise(mapped) ? later(mapped) : (mapped ?? null);
  };
}

/**
 * `mapValues` of a table. Forwards each change with the value that the function returns for its new
 * one; key, timestamp and headers stay. Tombstones pass without being put to the function; a result
 * of null is a tombstone. Without a store of its own the function is called again for the old value
 * if somebody below asked for it, and for each read of the table by another operator.
 */
export class TableMapValuesOperator<K, V, VR> extends DerivedTableOperator<K, V, VR> {
  constructor(name: string, table: MappedTable<K, V, VR>) {
    super(name, table, table.derive);
  }
}
