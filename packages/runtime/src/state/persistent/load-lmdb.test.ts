import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../errors.ts';
import { loadLmdb } from './load-lmdb.ts';

describe('loadLmdb', () => {
  it('gives what opens environments', () => {
    expect(loadLmdb().open).toBeTypeOf('function');
  });

  it('says what to install when the native part is missing, or to keep stores in memory', () => {
    const missing = new Error('No native build was found\n    attempted loading from: here');
    const load = (): unknown =>
      loadLmdb(() => {
        throw missing;
      });
    expect(load).toThrow(ConfigError);
    expect(load).toThrow('No native build was found. Its');
    expect(load).toThrow(`@lmdb/lmdb-${process.platform}-${process.arch}`);
    expect(load).toThrow("'dsl.store.suppliers.class': 'inMemory'");
  });
});
