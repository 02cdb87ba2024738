import type { StateStore } from './store.ts';

/**
 * A store that writes to its changelog only before a commit, once per key that changed. The task calls
 * `writeChangelog` then, after the record caches have let go what they held.
 */
export interface WriteBehindStore extends StateStore {
  writeChangelog(): void;
}

export function isWriteBehindStore(store: StateStore): store is WriteBehindStore {
  return 'writeChangelog' in store;
}
