import { encodeControlBatch } from '@millrace/protocol';
import type { KeyRanges, RecordCursor } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { TaskCorruptedError } from '../errors.ts';
import { RESTORE_LOOK_RECORDS, RESTORE_SLICE_RECORDS } from '../limits.ts';
import { silentLogger } from '../logging/logger.ts';
import { ROWS_EXPECTED_MAX } from '../state/limits.ts';
import type { StateStore } from '../state/store.ts';
import { FakeClient } from '../testing-support/fake-client.ts';
import { FakeClock, settle } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { encodeBatch } from '../testing-support/fake-log.ts';
import type { RestoreTarget } from './changelog-reader.ts';
import type { RestoreProgress } from './progress.ts';
import { Restorer } from './restorer.ts';

/** Keeps what is restored, in order. */
class ListStore implements StateStore {
  readonly name: string;
  readonly isPersistent: boolean;
  readonly isOpen = true;
  readonly entries = new Map<string, string>();
  #committed: bigint | null;

  constructor(name: string, committed: bigint | null = null, isPersistent = false) {
    this.name = name;
    this.#committed = committed;
    this.isPersistent = isPersistent;
  }

  open(): void {}

  restore(cursor: RecordCursor): void {
    const key = String(cursor.key());
    const value = cursor.value();
    if (value === null) this.entries.delete(key);
    else this.entries.set(key, value.toString());
  }

  committedOffset(): bigint | null {
    return this.#committed;
  }

  commit(offset: bigint | null): void {
    this.#committed = offset;
  }

  close(): void {}
}

function setUp() {
  const cluster = new FakeCluster();
  const clock = new FakeClock();
  const restored = new Map<string, ReadonlyMap<string, bigint>>();
  const failed: { task: string; error: Error }[] = [];
  const progress: RestoreProgress[] = [];
  const fetcher = new FakeClient(cluster).fetcher({
    isolationLevel: 'read_uncommitted',
    maxWaitMs: 1,
    minBytes: 1,
    maxBytes: 1_000_000,
    maxPartitionBytes: 200,
    onReady: () => undefined,
  });
  const restorer = new Restorer({
    fetcher,
    clock,
    logger: silentLogger(),
    listener: (event) => {
      progress.push(event);
    },
    onRestored: (task, ends) => {
      restored.set(task, ends);
    },
    onFailed: (task, error) => {
      failed.push({ task, error });
    },
    onWork: () => undefined,
  });
  const target = (
    store: StateStore,
    topic: string,
    more: Partial<RestoreTarget> = {},
  ): RestoreTarget => ({ taskId: '0_0', store, topic, partition: 0, limit: null, ...more });
  const runAll = async (): Promise<void> => {
    for (let i = 0; i < 50; i++) {
      restorer.pass(5);
      await Promise.resolve();
    }
    await settle();
    restorer.pass(5);
  };
  return { cluster, clock, restorer, restored, failed, progress, target, runAll };
}

function records(from: number, to: number) {
  return Array.from({ length: to - from }, (_, i) => ({
    key: `k${String(from + i)}`,
    value: `v${String(from + i)}`,
  }));
}

describe('Restorer', () => {
  it('53: restores several changelogs at the same time, up to the end that they had', async () => {
    const { cluster, restorer, restored, target, runAll, progress } = setUp();
    cluster.createTopic('c1');
    cluster.createTopic('c2');
    for (let i = 0; i < 50; i++) cluster.log('c1').write(records(i, i + 1));
    cluster.log('c2').write([
      { key: '1', value: 'Foo' },
      { key: '2', value: 'Bar' },
      { key: '2', value: null },
      { key: '2', value: 'Baz' },
    ]);
    const one = new ListStore('one');
    const two = new ListStore('two');
    await restorer.start('0_0', [target(one, 'c1'), target(two, 'c2')]);
    expect(restored.size).toBe(0);
    await runAll();
    expect(one.entries.size).toBe(50);
    // Deletes are applied where they stand.
    expect([...two.entries]).toEqual([
      ['1', 'Foo'],
      ['2', 'Baz'],
    ]);
    expect([...(restored.get('0_0') ?? [])]).toEqual([
      ['two', 4n],
      ['one', 50n],
    ]);
    expect(progress.map(({ kind }) => kind)).toContain('start');
    expect(progress.at(-1)).toMatchObject({ kind: 'end', endOffset: 50n, restoredRecords: 50 });
    expect(restorer.isIdle).toBe(true);
  });

  it('152: holds up the event loop no longer than its time, however slow a store is (kafkajs#387)', async () => {
    const { cluster, clock, restorer, restored, target, runAll } = setUp();
    const rowMs = 10;
    class SlowStore extends ListStore {
      override restore(cursor: RecordCursor): void {
        super.restore(cursor);
        clock.elapse(rowMs);
      }
    }
    cluster.createTopic('c');
    cluster.log('c').write(records(0, RESTORE_SLICE_RECORDS));
    const store = new SlowStore('slow');
    await restorer.start('0_0', [target(store, 'c')]);
    const startMs = clock.monotonicMs();
    restorer.pass(5);
    expect(clock.monotonicMs() - startMs).toBe(RESTORE_LOOK_RECORDS * rowMs);
    await runAll();
    expect(store.entries.size).toBe(RESTORE_SLICE_RECORDS);
    expect(restored.get('0_0')?.get('slow')).toBe(BigInt(RESTORE_SLICE_RECORDS));
  });

  it('tells a store the keys that come next, of each batch but its first', async () => {
    const { cluster, restorer, restored, target, runAll } = setUp();
    cluster.createTopic('c');
    const batches = [100, 1, 3, 33, 34];
    const firsts = new Set<string>();
    let written = 0;
    for (const size of batches) {
      firsts.add(`k${String(written)}`);
      cluster.log('c').write(records(written, (written += size)));
    }
    const told = new Set<string>();
    class ToldStore extends ListStore {
      readonly untold: string[] = [];

      expect(source: Buffer, { starts, ends, count }: KeyRanges): void {
        for (let i = 0; i < count; i++) told.add(source.toString('latin1', starts[i], ends[i]));
      }

      override restore(cursor: RecordCursor): void {
        const key = String(cursor.key());
        if (!told.has(key)) this.untold.push(key);
        super.restore(cursor);
      }
    }
    const store = new ToldStore('s');
    await restorer.start('0_0', [target(store, 'c')]);
    await runAll();
    expect(restored.get('0_0')?.get('s')).toBe(BigInt(written));
    expect(store.entries.size).toBe(written);
    expect(store.untold).toEqual(expect.arrayContaining([...firsts]));
    // ... and where one group of keys ends and the next is told of.
    expect(store.untold.length).toBeLessThanOrEqual(firsts.size + written / ROWS_EXPECTED_MAX);
    expect(told.size).toBe(written - store.untold.length);
  });

  it('is done at once without changelogs, and with empty ones', async () => {
    const { cluster, restorer, restored, target } = setUp();
    cluster.createTopic('empty');
    await restorer.start('0_0', []);
    expect(restored.has('0_0')).toBe(true);
    await restorer.start('0_1', [target(new ListStore('s'), 'empty', { taskId: '0_1' })]);
    expect([...(restored.get('0_1') ?? [])]).toEqual([['s', 0n]]);
  });

  it('49: restores the only record, at offset 0', async () => {
    const { cluster, restorer, restored, target, runAll } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write([{ key: 'k', value: 'v' }]);
    const store = new ListStore('s');
    await restorer.start('0_0', [target(store, 'c')]);
    await runAll();
    expect([...store.entries]).toEqual([['k', 'v']]);
    expect(restored.has('0_0')).toBe(true);
  });

  it('47: ends when the changelog ends in a transaction marker', async () => {
    const { cluster, restorer, restored, target, runAll } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 5));
    cluster.log('c').append(
      encodeControlBatch({
        baseOffset: 0n,
        producerId: 1n,
        producerEpoch: 0,
        type: 'commit',
        coordinatorEpoch: 0,
        timestamp: 0,
        leaderEpoch: 0,
      }),
    );
    await restorer.start('0_0', [target(new ListStore('s'), 'c')]);
    await runAll();
    expect(restored.get('0_0')?.get('s')).toBe(6n);
  });

  it('50, 58: ends when everything between start and end is compacted away', async () => {
    const { cluster, restorer, restored, target, runAll } = setUp();
    cluster.createTopic('c');
    const log = cluster.log('c');
    log.skipTo(17_091n);
    log.deleteUpTo(17_091n);
    log.skipTo(19_477n);
    const store = new ListStore('s');
    await restorer.start('0_0', [target(store, 'c')]);
    await runAll();
    expect(store.entries.size).toBe(0);
    expect(restored.get('0_0')?.get('s')).toBe(19_477n);
  });

  it('55: begins at offset 1 when 0 is gone', async () => {
    const { cluster, restorer, restored, target, runAll } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 1));
    cluster.log('c').write(records(1, 2));
    cluster.log('c').deleteUpTo(1n);
    const store = new ListStore('s');
    await restorer.start('0_0', [target(store, 'c')]);
    await runAll();
    expect([...store.entries.keys()]).toEqual(['k1']);
    expect(restored.get('0_0')?.get('s')).toBe(2n);
  });

  it('56: stops at the end that it took, although somebody goes on writing into the same batch', async () => {
    const { cluster, restorer, restored, target, runAll } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 10));
    const store = new ListStore('s');
    await restorer.start('0_0', [target(store, 'c')]);
    cluster.log('c').write(records(10, 30));
    await runAll();
    expect(store.entries.size).toBe(10);
    expect(restored.get('0_0')?.get('s')).toBe(10n);
  });

  it('stops inside of a batch at the limit of a source topic', async () => {
    const { cluster, restorer, restored, target, runAll } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 10));
    const store = new ListStore('s');
    await restorer.start('0_0', [target(store, 'c', { limit: 4n })]);
    await runAll();
    expect([...store.entries.keys()]).toEqual(['k0', 'k1', 'k2', 'k3']);
    expect(restored.get('0_0')?.get('s')).toBe(4n);
  });

  it('goes on where a persistent store stopped', async () => {
    const { cluster, restorer, target, runAll, progress } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 100));
    const store = new ListStore('s', 50n);
    await restorer.start('0_0', [target(store, 'c')]);
    await runAll();
    expect(store.entries.size).toBe(50);
    expect(store.entries.has('k49')).toBe(false);
    expect(progress.at(-1)).toMatchObject({ startOffset: 50n, restoredRecords: 50 });
  });

  it('46: tells a persistent store where it stands, also behind the last record and when it is stopped', async () => {
    const { cluster, restorer, target, runAll } = setUp();
    cluster.createTopic('c');
    // As many as are applied in one go, so that the end is found in the next.
    cluster.log('c').write(records(0, RESTORE_SLICE_RECORDS));
    const full = new ListStore('s', null, true);
    await restorer.start('0_0', [target(full, 'c')]);
    await runAll();
    expect(full.committedOffset()).toBe(BigInt(RESTORE_SLICE_RECORDS));

    cluster.log('c').skipTo(5_000n);
    await restorer.start('0_0', [target(full, 'c')]);
    await runAll();
    expect(full.committedOffset()).toBe(5_000n);
    expect(full.entries.size).toBe(RESTORE_SLICE_RECORDS);

    for (let i = 0; i < 100; i++) cluster.log('c').write(records(i, i + 1));
    await restorer.start('0_0', [target(full, 'c')]);
    restorer.pass(0);
    restorer.cancel('0_0');
    const reached = full.committedOffset() as bigint;
    expect(reached).toBeGreaterThan(5_000n);
    expect(reached).toBeLessThan(5_100n);
  });

  it('59: wipes a persistent store that the changelog no longer continues', async () => {
    const { cluster, restorer, target, failed } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 100));
    cluster.log('c').deleteUpTo(80n);
    await restorer.start('0_0', [target(new ListStore('s', 50n, true), 'c')]);
    expect(failed[0]?.error).toBeInstanceOf(TaskCorruptedError);
    expect(failed[0]?.error.message).toMatch(/Store s of task 0_0.*knows offset 50.*starts at 80/);
  });

  it('62: reports offsets that were reached and records that were restored, over gaps', async () => {
    const { cluster, restorer, target, runAll, progress } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 3));
    cluster.log('c').skipTo(40n);
    cluster.log('c').write(records(3, 5));
    cluster.log('c').skipTo(60n);
    await restorer.start('0_0', [target(new ListStore('s'), 'c')]);
    await runAll();
    expect(progress.at(-1)).toMatchObject({ kind: 'end', currentOffset: 60n, restoredRecords: 5 });
    for (const { currentOffset, restoredRecords } of progress) {
      expect([
        [0n, 0],
        [3n, 3],
        [40n, 3],
        [60n, 5],
      ]).toContainEqual([currentOffset, restoredRecords]);
    }
  });

  it('59: goes on from the new start when the changelog is trimmed while it is read', async () => {
    const { cluster, restorer, restored, target, runAll, failed } = setUp();
    cluster.createTopic('c');
    for (let i = 0; i < 30; i++) cluster.log('c').write(records(i, i + 1));
    const store = new ListStore('s');
    await restorer.start('0_0', [target(store, 'c')]);
    cluster.log('c').deleteUpTo(20n);
    await runAll();
    expect(failed).toEqual([]);
    expect([...store.entries.keys()]).toEqual(records(20, 30).map(({ key }) => key));
    expect(restored.get('0_0')?.get('s')).toBe(30n);
  });

  it('52: gives up a store that knows more than the changelog: it was created anew', async () => {
    const { cluster, restorer, target, failed } = setUp();
    cluster.createTopic('c');
    cluster.log('c').write(records(0, 5));
    await restorer.start('0_0', [target(new ListStore('s', 80n), 'c')]);
    expect(failed).toHaveLength(1);
    expect(failed[0]?.error).toBeInstanceOf(TaskCorruptedError);
    expect(failed[0]?.error.message).toMatch(/Store s of task 0_0.*c-0.*80.*ends at 5/);
  });

  it('reports a changelog batch that cannot be read, and restores the other tasks', async () => {
    const { cluster, restorer, restored, target, runAll, failed } = setUp();
    cluster.createTopic('broken');
    cluster.createTopic('fine');
    cluster.log('broken').write(records(0, 3));
    cluster.log('broken').read(0n, 1_000);
    const bytes = Buffer.from(cluster.log('broken').read(0n, 1_000).records);
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
    cluster.log('broken').appendRaw(bytes, 6n);
    cluster.log('fine').write(records(0, 3));
    await restorer.start('0_0', [target(new ListStore('a'), 'broken')]);
    await restorer.start('0_1', [target(new ListStore('b'), 'fine', { taskId: '0_1' })]);
    await runAll();
    expect(failed[0]).toMatchObject({ task: '0_0' });
    expect(failed[0]?.error.message).toContain('broken-0 at offset');
    expect(restored.has('0_1')).toBe(true);
  });

  it('leaves out of a source topic what cannot be read: processing has left it out, too', async () => {
    const { cluster, restorer, restored, failed, target, runAll } = setUp();
    cluster.createTopic('source');
    const log = cluster.log('source');
    log.write(records(0, 2));
    const broken = Buffer.from(encodeBatch(records(2, 3), { baseOffset: 2n }));
    broken[broken.length - 1] = (broken[broken.length - 1] as number) ^ 1;
    log.appendRaw(broken, 3n);
    log.write(records(3, 6));
    const store = new ListStore('s');
    const restore = store.restore.bind(store);
    store.restore = (cursor) => {
      if (String(cursor.key()) === 'k4') throw new Error('no such text');
      restore(cursor);
    };
    await restorer.start('0_0', [target(store, 'source', { limit: 6n })]);
    await runAll();
    expect(failed).toEqual([]);
    expect(restored.get('0_0')?.get('s')).toBe(6n);
    expect([...store.entries.keys()]).toEqual(['k0', 'k1', 'k3', 'k5']);
  });

  it('forgets a task that is cancelled, in whatever state it is', async () => {
    const { cluster, restorer, restored, target, runAll, progress } = setUp();
    cluster.createTopic('c');
    for (let i = 0; i < 20; i++) cluster.log('c').write(records(i, i + 1));
    const started = restorer.start('0_0', [target(new ListStore('s'), 'c')]);
    restorer.cancel('0_0');
    await started;
    await runAll();
    expect(restored.size).toBe(0);
    await restorer.start('0_0', [target(new ListStore('s'), 'c')]);
    restorer.cancel('0_0');
    await runAll();
    expect(restored.size).toBe(0);
    expect(progress.at(-1)?.kind).toBe('suspended');
    restorer.cancel('0_0');
    expect(restorer.isIdle).toBe(true);
  });
});
