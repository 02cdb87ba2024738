import { describe, expect, it } from 'vitest';
import { IDLE_KEYS_MIN } from '../limits.ts';
import { IdleKeys, type IdleKey } from './idle-keys.ts';

class Key implements IdleKey {
  isEmpty = true;
  isIdle = false;
}

/** A store of keys that have something or nothing. */
class Store {
  readonly keys = new Set<Key>();
  readonly idle = new IdleKeys<Key>((key) => {
    this.keys.delete(key);
    this.forgotten++;
  });
  forgotten = 0;

  fill(key: Key): void {
    this.keys.add(key);
    key.isEmpty = false;
    this.idle.filled();
  }

  empty(key: Key): void {
    key.isEmpty = true;
    this.idle.emptied(key);
  }
}

describe('IdleKeys', () => {
  it('forgets no key that comes back after all of a window has expired at once', () => {
    const store = new Store();
    const keys = Array.from({ length: 10 * IDLE_KEYS_MIN }, () => new Key());
    for (let window = 0; window < 20; window++) {
      for (const key of keys) store.fill(key);
      for (const key of keys) store.empty(key);
    }
    expect(store.forgotten).toBe(0);
  });

  it('keeps a bounded number of keys that never come back', () => {
    const store = new Store();
    const perWindow = 5 * IDLE_KEYS_MIN;
    for (let window = 0; window < 20; window++) {
      const keys = Array.from({ length: perWindow }, () => new Key());
      for (const key of keys) store.fill(key);
      for (const key of keys) store.empty(key);
      expect(store.keys.size).toBeLessThanOrEqual(IDLE_KEYS_MIN + 3 * perWindow);
    }
    expect(store.forgotten).toBeGreaterThan(15 * perWindow);
  });

  it('lets the keys of a rush go once there are few again', () => {
    const store = new Store();
    const rush = Array.from({ length: 100 * IDLE_KEYS_MIN }, () => new Key());
    for (const key of rush) store.fill(key);
    for (const key of rush) store.empty(key);
    for (let i = 0; i < 400 * IDLE_KEYS_MIN; i++) {
      const key = new Key();
      store.fill(key);
      store.empty(key);
    }
    expect(store.keys.size).toBeLessThanOrEqual(2 * IDLE_KEYS_MIN);
  });

  it('does not forget a key that has something again', () => {
    const store = new Store();
    const revived = new Key();
    store.fill(revived);
    store.empty(revived);
    store.fill(revived);
    for (let i = 0; i < 10 * IDLE_KEYS_MIN; i++) {
      const key = new Key();
      store.fill(key);
      store.empty(key);
    }
    expect(store.keys.has(revived)).toBe(true);
    expect(revived.isIdle).toBe(false);
  });
});
