import { afterEach, describe, expect, it, vi } from 'vitest';
import { TaskDouble } from '../../operators/testing-support/task-double.ts';
import { serdes } from '../../serdes/serdes.ts';
import { Windowed } from '../../serdes/windowed-key.ts';
import { Expiry } from './expiry.ts';
import { InMemorySessionStore } from './in-memory-session-store.ts';
import { KeySessions } from './key-sessions.ts';
import { SessionsByEnd } from './sessions-by-end.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

function open(retentionMs: number) {
  const task = new TaskDouble();
  const store = new InMemorySessionStore<string, number>('s', serdes.string(), serdes.long(), {
    retentionMs,
  });
  return { task, store: task.open(store) };
}

describe('in-memory session store', () => {
  it('lists a key once among what expires, however often its session grows', () => {
    const add = vi.spyOn(Expiry.prototype, 'add');
    const { store } = open(1_000);
    for (let end = 0; end < 900; end++) {
      if (end > 0) store.remove(new Windowed('a', 0, end - 1));
      store.put(new Windowed('a', 0, end), end);
    }
    expect(add).toHaveBeenCalledTimes(1);
    expect(store.fetchSession('a', 0, 899)).toBe(899);
  });

  it('forgets what has expired, also of a key that is never written again', () => {
    const expire = vi.spyOn(KeySessions.prototype, 'expire');
    const { store } = open(800);
    for (const end of [10, 500, 900]) store.put(new Windowed('a', end, end), end);
    for (let end = 1_000; end <= 2_000; end += 50) store.put(new Windowed('b', end, end), end);
    const expired = expire.mock.contexts as KeySessions<string>[];
    const ofA = expired.filter(({ key }) => key === 'a');
    expect(ofA.length).toBeGreaterThan(1);
    expect(ofA[0]?.isEmpty).toBe(true);
    expect([...store.fetch('a')]).toEqual([]);
  });

  it('forgets an earlier session that came later', () => {
    const { store } = open(100);
    store.put(new Windowed('a', 90, 90), 1);
    store.put(new Windowed('a', 20, 20), 2);
    store.put(new Windowed('b', 130, 130), 3);
    expect([...store.fetch('a')].map(({ value }) => value)).toEqual([1]);
    store.put(new Windowed('b', 300, 300), 4);
    store.put(new Windowed('a', 290, 290), 5);
    expect([...store.fetch('a')].map(({ value }) => value)).toEqual([5]);
  });

  it('does not look at the later sessions of a key to find an early one, unless they overlap', () => {
    const startAt = vi.spyOn(KeySessions.prototype, 'startAt');
    const { store } = open(1_000_000);
    for (let start = 0; start < 1_000; start += 10) store.put(new Windowed('a', start, start), 1);
    startAt.mockClear();
    expect([...store.findSessions('a', 105, 115)].map(({ key }) => key.start)).toEqual([110]);
    expect(startAt.mock.calls.length).toBeLessThan(10);
    store.put(new Windowed('a', 0, 2_000), 2);
    expect([...store.findSessions('a', 105, 115)].map(({ key }) => key.start)).toEqual([110, 0]);
  });
});

describe('sessions by end', () => {
  it('names each key with a session that ends then, once it was asked, and no longer when it has none', () => {
    const a = new KeySessions('a', 'a', -1);
    const b = new KeySessions('b', 'b', -1);
    a.put(1, 5, 'x');
    a.put(2, 5, 'x');
    const byEnd = new SessionsByEnd<string>(() => [a, b]);
    const named = (from: number, to: number): string[] => {
      const found: string[] = [];
      byEnd.forEach(from, to, (end, { key }) => found.push(`${key}@${String(end)}`));
      return found;
    };
    expect(named(0, 9)).toEqual(['a@5']);
    b.put(3, 5, 'x');
    byEnd.added(5, b);
    b.put(3, 7, 'x');
    byEnd.added(7, b);
    expect(named(0, 9)).toEqual(['a@5', 'b@5', 'b@7']);
    a.remove(1, 5);
    byEnd.removed(5, a);
    expect(named(5, 5)).toEqual(['a@5', 'b@5']);
    a.remove(2, 5);
    byEnd.removed(5, a);
    expect(named(5, 6)).toEqual(['b@5']);
    byEnd.advanceTo(6);
    expect(named(0, 9)).toEqual(['b@7']);
  });
});
