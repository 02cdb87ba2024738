import { keyValueView } from './store-view.ts';
import type { TableView } from './table.ts';

/** How nodes of any task read a global table: its store is connected to none of them. */
export function globalTableView<K, V>(storeName: string): TableView<K, V> {
  return { ...keyValueView<K, V>(storeName), storeNames: [] };
}
