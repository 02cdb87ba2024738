import { InvariantError } from '../../errors.ts';
import type { PersistentStore, StoreContext } from '../store.ts';
import type { StateEnvironment } from './environment.ts';

/** Where a store is kept on disk; from now on what it commits is written there. */
export function environmentOf(context: StoreContext, store: PersistentStore): StateEnvironment {
  const environment = context.diskOf?.(store);
  if (environment !== undefined) return environment;
  throw new InvariantError(
    `The store ${store.name} is persistent, but there is no state directory`,
  );
}
