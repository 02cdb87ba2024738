import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../logging/logger.ts';
import { SerdeResolver } from '../serdes/serde-resolver.ts';
import { serdes } from '../serdes/serdes.ts';
import { RecordCache } from '../state/cache/record-cache.ts';
import { StateDirectory } from '../state/directory/state-directory.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import { TaskDisk } from '../state/persistent/task-disk.ts';
import type { StateStore, StoreBuilder, StoreContext, StoreSettings } from '../state/store.ts';
import { stores } from '../state/stores.ts';
import type { WindowStore } from '../state/window-store.ts';
import { FakeClient } from '../testing-support/fake-client.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { Punctuations } from './punctuations.ts';
import { StreamTaskContext } from './stream-task-context.ts';
import { StreamTime } from './stream-time.ts';
import { TaskStores } from './task-stores.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const settings: StoreSettings = {
  applicationId: 'app',
  serdes: new SerdeResolver(null, null),
  changelogAdditionalRetentionMs: 0,
  defaultStoreType: 'persistent',
  dslKeepsHeaders: false,
  isCachingEnabled: true,
  isOnDisk: true,
};

let stateDir: string;
let directory: StateDirectory;
beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-stores-'));
  directory = await StateDirectory.open({ stateDir, applicationId: 'app', logger: silentLogger() });
});
afterEach(async () => {
  await directory.close(true);
  rmSync(stateDir, { recursive: true, force: true });
});

/** A store of a user's own that keeps a file; some cannot be closed. */
class OwnStore implements StateStore {
  readonly name: string;
  readonly isPersistent = true;
  readonly #fails: boolean;
  isOpen = false;
  path = '';

  constructor(name: string, fails: boolean) {
    this.name = name;
    this.#fails = fails;
  }

  open(context: StoreContext): void {
    this.path = context.directoryOf?.(this.name) ?? '';
    this.isOpen = true;
  }

  restore(): void {}

  committedOffset(): bigint | null {
    return null;
  }

  commit(): void {}

  close(): void {
    // The directory is still this task's.
    expect(directory.released('0_0')).toBeDefined();
    this.isOpen = false;
    if (this.#fails) throw new Error(`${this.name} cannot be closed`);
  }
}

function open(
  all: readonly StateStore[],
  loggedStores: ReadonlySet<string> = new Set(),
): { taskStores: TaskStores; cache: RecordCache } {
  const clock = new FakeClock();
  const disk = new TaskDisk({
    directory,
    taskName: '0_0',
    owner: 'thread-1',
    loggedStores,
    tableCount: 100,
    clock,
    logger: silentLogger(),
    onSpilled: () => undefined,
  });
  const byName = new Map(all.map((store) => [store.name, store]));
  const cache = new RecordCache({ maxBytes: 1_000_000 });
  const context = new StreamTaskContext({
    applicationId: 'app',
    taskId: { subtopology: 0, partition: 0 },
    logger: silentLogger(),
    collector: { topic: unused, partition: unused },
    stores: byName,
    streamTime: new StreamTime(),
    clock,
    punctuations: new Punctuations(unused),
    appConfigs: {},
    cache,
    disk,
  });
  const taskStores = new TaskStores(byName, [], 0, disk);
  taskStores.open(context, new FakeClient(new FakeCluster()).producer(unused as never));
  return { taskStores, cache };
}

function unused(): never {
  throw new Error('not used here');
}

function bound<S extends StateStore>(builder: StoreBuilder<S>): S {
  return builder.bind(settings)();
}

const text = (name: string): KeyValueStore<string, string> =>
  bound(stores.keyValue({ name, ...strings, caching: true }));

describe('TaskStores', () => {
  it('empties a logged store that was never filled to an offset, and keeps one without a changelog', async () => {
    const names = ['filled', 'unfinished', 'unlogged', 'windows'];
    const windowsOf = () =>
      bound(stores.window({ name: 'windows', ...strings, windowSize: 10, retention: '1h' }));
    const filled = [...names.slice(0, 3).map(text), windowsOf()];
    const first = open(filled);
    for (const store of filled.slice(0, 3) as KeyValueStore<string, string>[]) store.put('k', 'v');
    (filled[3] as WindowStore<string, string>).put('k', 'v', 0);
    await first.taskStores.flush();
    // As a kill leaves it between the rows and their offset, but for the first.
    for (const store of filled) store.commit(store.name === 'filled' ? 7n : null);
    await first.taskStores.close();

    const again = [...names.slice(0, 3).map(text), windowsOf()];
    const second = open(again, new Set(['filled', 'unfinished', 'windows']));
    const found = (again.slice(0, 3) as KeyValueStore<string, string>[]).map((s) => s.get('k'));
    expect(found).toEqual(['v', null, 'v']);
    expect((again[3] as WindowStore<string, string>).get('k', 0)).toBe(null);
    expect(again[0]?.committedOffset()).toBe(7n);
    await second.taskStores.close();
  });

  it("give back what the caches of stores on disk hold of the thread's bytes", async () => {
    const [a, b] = [text('a'), text('b')];
    const { taskStores, cache } = open([a, b]);
    for (const store of [a, b]) store.put('k', 'v', 1);
    await taskStores.flush();
    a.put('k', 'dirty', 2);
    expect(cache.bytes).toBeGreaterThan(0);
    await taskStores.close();
    expect(cache.bytes).toBe(0);
    expect([a.isOpen, b.isOpen]).toEqual([false, false]);
  });

  it('keep more stores than LMDB has tables for by default, over a restart', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `store-${String(i)}`);
    for (const value of [null, 'v']) {
      const all = names.map(text);
      const { taskStores } = open(all);
      expect(all.map((store) => store.get('k'))).toEqual(
        names.map((name) => (value === null ? null : name)),
      );
      for (const store of all) store.put('k', store.name, 1);
      await taskStores.flush();
      taskStores.commit(() => null);
      await taskStores.close();
    }
  });

  it("close a user's own store before the task's directory is anybody's, and all if one fails", async () => {
    const [first, failing, last, disk] = [
      new OwnStore('own', false),
      new OwnStore('..', true),
      new OwnStore('a/b', false),
      text('text'),
    ];
    const { taskStores } = open([first, failing, last, disk]);
    const paths = [first, failing, last].map(({ path }) => path);
    expect(paths.map((path) => path.slice(stateDir.length))).toEqual([
      '/app/0_0/store-own',
      '/app/0_0/store-..',
      '/app/0_0/store-a%2Fb',
    ]);
    expect(paths.every((path) => existsSync(path))).toBe(true);
    await expect(taskStores.close()).rejects.toThrow('.. cannot be closed');
    expect([first, failing, last, disk].some(({ isOpen }) => isOpen)).toBe(false);
    expect(directory.released('0_0')).toBeUndefined();
  });
});
