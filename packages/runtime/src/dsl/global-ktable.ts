import type { TableView } from '../operators/table.ts';
import { TopologyError } from '../errors.ts';

declare const rowTypes: unique symbol;

/**
 * A table that every instance of the application holds as a whole (KIP-99): complete before the first
 * record is processed, then kept up to date. Streams join it by any key, whatever their partitions.
 */
export interface GlobalKTable<K, V> {
  readonly isGlobal: true;
  /** Name of the store that the user asked for; null if none was named. */
  readonly queryableStoreName: string | null;
  /** Only for types. */
  readonly [rowTypes]?: readonly [K, V];
}

const views = new WeakMap<object, TableView<never, unknown>>();

/** See `GlobalKTable`. */
export class GlobalKTableImpl<K, V> implements GlobalKTable<K, V> {
  declare readonly [rowTypes]?: readonly [K, V];
  readonly isGlobal = true;
  readonly queryableStoreName: string | null;

  constructor(view: TableView<K, V>, queryableStoreName: string | null) {
    this.queryableStoreName = queryableStoreName;
    views.set(this, view);
  }
}

export function viewOfGlobalTable<K, V>(table: GlobalKTable<K, V>): TableView<K, V> {
  const view = views.get(table);
  if (view !== undefined) return view as TableView<K, V>;
  throw new TopologyError('A join was given something that is no global table of a StreamsBuilder.');
}

export function isGlobalTable(table: object): table is GlobalKTable<unknown, unknown> {
  return views.has(table);
}
