import { createRequire } from 'node:module';
import type * as Lmdb from 'lmdb';
import { ConfigError, messageOf } from '../../errors.ts';

const require = createRequire(import.meta.url);

/**
 * LMDB, when the first store on disk is opened: loading takes 50 ms, and many applications have none.
 *
 * @throws ConfigError when its native part is not installed for this platform
 */
export function loadLmdb(load: () => unknown = () => require('lmdb')): typeof Lmdb {
  try {
    return load() as typeof Lmdb;
  } catch (error) {
    // The lines that follow list where it was looked for; `cause` has them.
    const [why] = messageOf(error).split('\n', 1);
    const platform = `${process.platform}-${process.arch}`;
    throw new ConfigError(
      `Stores on disk need LMDB, which cannot be loaded on ${platform}: ${why}. Its native part is an ` +
        `optional dependency (@lmdb/lmdb-${platform}): install for this platform and with optional dependencies, or ` +
        "keep stores in memory, with 'dsl.store.suppliers.class': 'inMemory' or inMemory stores",
      { cause: error, context: { key: 'dsl.store.suppliers.class', platform } },
    );
  }
}
