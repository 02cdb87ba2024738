/** Bugs that users of other stream processors hit with restoring state; the number is the report's. */
import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type FixedKeyProcessorContext,
  type KeyValueStore,
  stores,
  StreamsBuilder,
  type Topology,
} from '@millrace/runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { type Entry, eventually, Lab, type Running } from './lab.ts';
import { contentsOf, numbered, objectOf, shelf } from './shelf.ts';
import { texts } from './topologies.ts';

const ANEW = 'the task is closed and begun anew';
const CHANGELOG = 'app-a-changelog';
const TRIMMABLE = { 'cleanup.policy': 'compact,delete', 'retention.ms': '-1' };

let lab: Lab;
afterEach(() => lab.close());

function metric({ streams }: Running, name: string): number {
  return Number(
    streams
      .metrics()
      .find((each) => each.name === name)
      ?.value(),
  );
}

/** Runs until what was written is processed and committed, then stops. */
async function runOnce(topology: Topology): Promise<void> {
  const running = await lab.start(topology);
  await contentsOf(lab);
  expect(await running.close()).toBe(true);
  expect(running.loud).toEqual([]);
}

describe('state on disk', () => {
  it('46: a restoration that was stopped goes on where it was', async () => {
    const count = 150_000;
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1);
    // Some that come once, at the beginning, and some that come again and again.
    const entries = numbered(0, count).map(([key, value], index): Entry => [
      index < 100 ? key : `often-${String(index % 500)}`,
      value,
    ]);
    await lab.write(CHANGELOG, entries);
    const stopped = lab.create(shelf('a'));
    await stopped.streams.start();
    while (metric(stopped, 'restore-total') < 40_000) await turn();
    await stopped.close();
    const last = stopped.progress.at(-1);
    expect(last?.kind).toBe('suspended');
    const reached = Number(last?.currentOffset);
    expect(reached).toBeGreaterThan(0);
    expect(reached).toBeLessThan(count);

    const again = await lab.start(shelf('a'));
    expect(again.restored()).toEqual({ a: count - reached });
    const { a } = await contentsOf(lab);
    expect(a).toEqual(objectOf(entries));
    expect(again.loud).toEqual([]);
  });

  it('goes on over a restart: nothing is restored after a clean stop', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.write('in', [...numbered(0, 100), ['k7', null], ['k8', 'new']]);
    await runOnce(shelf('a'));
    const again = await lab.start(shelf('a'));
    expect(again.restored()).toEqual({ a: 0 });
    await lab.write('in', [['k9', null]]);
    const expected = objectOf(numbered(0, 100));
    delete expected['k7'];
    delete expected['k9'];
    expect(await contentsOf(lab)).toEqual({ a: { ...expected, k8: 'new' } });
  });

  it('52: is wiped, with one warning, when the changelog was created anew', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.write('in', numbered(0, 100));
    await runOnce(shelf('a'));
    await lab.deleteTopic(CHANGELOG);
    await lab.createTopic(CHANGELOG, 1);
    await lab.write(CHANGELOG, numbered(0, 3, 'other-'));
    const again = await lab.start(shelf('a'));
    expect(again.restored()).toEqual({ a: 3 });
    await lab.write('in', [['k0', 'newer']]);
    expect(await contentsOf(lab)).toEqual({
      a: { k0: 'newer', k1: 'other-1', k2: 'other-2' },
    });
    expect(again.loud).toEqual([ANEW]);
    // What it knows now is right.
    await again.close();
    const last = await lab.start(shelf('a'));
    expect(last.restored()).toEqual({ a: 0 });
    expect(last.loud).toEqual([]);
  });

  it('61: of the store whose changelog was cut is wiped, that of the other one stays', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.write('in', numbered(0, 50));
    await runOnce(shelf('a', 'b'));
    await lab.deleteTopic('app-b-changelog');
    await lab.createTopic('app-b-changelog', 1);
    await lab.write('app-b-changelog', [['k1', 'from the changelog']]);
    const again = await lab.start(shelf('a', 'b'));
    expect(again.restored()).toEqual({ a: 0, b: 1 });
    expect(await contentsOf(lab)).toEqual({
      a: objectOf(numbered(0, 50)),
      b: { k1: 'from the changelog' },
    });
    expect(again.loud).toEqual([ANEW]);
  });

  it.each([
    ['overwritten', (file: string) => writeFileSync(file, Buffer.alloc(50_000, 0x5a))],
    ['no file of ours at all', (file: string) => writeFileSync(file, 'garbage')],
    ['cut in half', (file: string) => truncateSync(file, statSync(file).size >> 1)],
    ['cut in its head', (file: string) => truncateSync(file, 5_000)],
  ])('is wiped and restored when its file is damaged: %s', async (_how, damage) => {
    lab = await Lab.open({ in: 2, out: 1 });
    await lab.write('in', numbered(0, 2_000), { partition: 0 });
    await lab.write('in', numbered(0, 100), { partition: 1 });
    await runOnce(shelf('a'));
    damage(lab.taskFile('data.mdb', '0_0'));
    const again = await lab.start(shelf('a'));
    const ends = again.progress.filter(({ kind }) => kind === 'end');
    // The other task goes on from its own.
    expect(
      Object.fromEntries(ends.map(({ taskId, restoredRecords }) => [taskId, restoredRecords])),
    ).toEqual({ '0_0': 2_000, '0_1': 0 });
    expect(await contentsOf(lab)).toEqual({ a: objectOf(numbered(0, 2_000)) });
    expect(again.loud).toEqual([ANEW]);
  });

  it('59: is wiped when the changelog no longer has what came next, and begins at its new start', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1, TRIMMABLE);
    await lab.write('in', numbered(0, 50));
    await runOnce(shelf('a'));
    await lab.write(CHANGELOG, numbered(50, 100));
    await lab.trim(CHANGELOG, 80n);
    const again = await lab.start(shelf('a'));
    expect(again.restored()).toEqual({ a: 20 });
    expect(await contentsOf(lab)).toEqual({ a: objectOf(numbered(80, 100)) });
    expect(again.loud).toEqual([ANEW]);
  });
});

describe('restoring', () => {
  it('49: takes the only record of a changelog, at offset 0', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1);
    await lab.write(CHANGELOG, [['k', 'v']]);
    const running = await lab.start(shelf('a'));
    expect(running.restored()).toEqual({ a: 1 });
    expect(await contentsOf(lab)).toEqual({ a: { k: 'v' } });
  });

  it('50, 58: is done at once, without lag, when nothing is left between start and end', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1, TRIMMABLE);
    await lab.write(CHANGELOG, numbered(0, 1_000));
    await lab.trim(CHANGELOG, 1_000n);
    const running = await lab.start(shelf('a'));
    expect(metric(running, 'restore-remaining-records-total')).toBe(0);
    expect(running.progress.at(-1)).toMatchObject({ currentOffset: 1_000n, endOffset: 1_000n });
    expect(await contentsOf(lab)).toEqual({ a: {} });
    expect(running.loud).toEqual([]);
  });

  it('53: applies deletes where they stand', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1);
    await lab.write(CHANGELOG, [
      ['1', 'Foo'],
      ['2', 'Bar'],
      ['2', null],
      ['2', 'Baz'],
    ]);
    await lab.start(shelf('a'));
    expect(await contentsOf(lab)).toEqual({ a: { 1: 'Foo', 2: 'Baz' } });
  });

  it('55: begins at offset 1 when 0 is gone', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1, TRIMMABLE);
    await lab.write(CHANGELOG, numbered(0, 3));
    await lab.trim(CHANGELOG, 1n);
    const running = await lab.start(shelf('a'));
    expect(running.restored()).toEqual({ a: 2 });
    expect(await contentsOf(lab)).toEqual({ a: objectOf(numbered(1, 3)) });
  });

  it('56: ends where the changelog ended when it began, however much is written meanwhile', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1);
    await lab.write(CHANGELOG, numbered(0, 100));
    const running = lab.create(shelf('a'));
    let writing: Promise<void> | null = null;
    running.streams.restore$.subscribe(({ kind }) => {
      if (kind === 'start') writing ??= lab.write(CHANGELOG, numbered(100, 120));
    });
    await running.streams.start();
    await eventually(() => running.streams.state === 'RUNNING');
    await (writing as Promise<void> | null);
    expect(running.restored()).toEqual({ a: 100 });
    expect(running.progress.at(-1)).toMatchObject({ kind: 'end', endOffset: 100n });
  });

  it('62: reports records that were restored, and offsets that were reached', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.createTopic(CHANGELOG, 1, TRIMMABLE);
    await lab.write(CHANGELOG, numbered(0, 10));
    await lab.trim(CHANGELOG, 4n);
    const running = await lab.start(shelf('a'));
    const [first] = running.progress;
    expect(first).toMatchObject({ kind: 'start', startOffset: 4n, currentOffset: 4n });
    expect(running.progress.at(-1)).toMatchObject({
      kind: 'end',
      startOffset: 4n,
      currentOffset: 10n,
      endOffset: 10n,
      restoredRecords: 6,
    });
  });
});

describe('input and global topics', () => {
  it.each(['earliest', 'latest'])(
    '77: goes on loudly where the policy says when what is committed is gone: %s',
    async (policy) => {
      lab = await Lab.open({ in: 1, out: 1 });
      await lab.write('in', numbered(0, 50));
      await runOnce(shelf('a'));
      const committed = await lab.committed('in');
      await lab.write('in', numbered(50, 100, 'late-'));
      await lab.trim('in', (committed ?? 0n) + 25n);
      const again = await lab.start(shelf('a'), { 'auto.offset.reset': policy });
      await eventually(() => again.loud.length > 0);
      await lab.write('in', [['last', 'one']]);
      const late = policy === 'earliest' ? numbered(75, 100, 'late-') : [];
      expect(await contentsOf(lab)).toEqual({
        a: { ...objectOf(numbered(0, 50)), ...objectOf(late), last: 'one' },
      });
      expect(again.loud).toEqual([expect.stringContaining('out of range')]);
    },
  );

  it('77: ends with a clear error when there is no policy', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    await lab.write('in', numbered(0, 50));
    await runOnce(shelf('a'));
    await lab.write('in', numbered(50, 100));
    await lab.trim('in', 80n);
    const again = lab.create(shelf('a'), { 'auto.offset.reset': 'none' });
    await again.streams.start();
    await eventually(() => again.streams.state === 'ERROR');
    expect(again.streams.failure).toMatchObject({ code: 'NO_OFFSET' });
    expect(again.streams.failure?.message).toContain('in-0');
  });
});

describe('a global store on disk', () => {
  /** Its rows are what a processor makes of the topic; a question, a key, is answered with its row. */
  const loud = (): Topology => {
    const builder = new StreamsBuilder();
    builder.addGlobalStore(stores.keyValue({ name: 'loud', ...texts }), 'rows', texts, () => {
      let store: KeyValueStore<string, string>;
      return {
        init(context) {
          store = context.getStateStore('loud');
        },
        process({ key, value }: { readonly key: string; readonly value: string | null }) {
          store.put(key, value?.toUpperCase() ?? null);
        },
      };
    });
    builder
      .stream('in', texts)
      .processValues<string>(() => {
        let context: FixedKeyProcessorContext<string, string>;
        let store: KeyValueStore<string, string>;
        return {
          init(given) {
            context = given;
            store = context.getStateStore('loud');
          },
          process: (record) => context.forward(record.withValue(store.get(record.key) ?? 'none')),
        };
      })
      .to('out', texts);
    return builder.build();
  };

  /** Starts it, asks, and stops it. */
  const answers = async (
    ...keys: string[]
  ): Promise<{ answers: (string | null)[]; restored: number; loud: readonly string[] }> => {
    const running = await lab.start(loud());
    const { length } = await lab.read('out');
    await lab.write(
      'in',
      keys.map((key) => [key, '?']),
    );
    await eventually(async () => (await lab.read('out')).length === length + keys.length);
    const all = (await lab.read('out')).slice(length).map(({ value }) => value);
    await running.close();
    const ends = running.progress.filter(({ kind }) => kind === 'end');
    const restored = ends.reduce((sum, { restoredRecords }) => sum + restoredRecords, 0);
    return { answers: all, restored, loud: running.loud };
  };

  it('76: holds what its processor made of the topic, and reads only the rest of it after a restart', async () => {
    lab = await Lab.open({ in: 1, out: 1, rows: 2 });
    await lab.write('rows', numbered(0, 1_000));
    expect(await answers('k7', 'k999')).toEqual({
      answers: ['V7', 'V999'],
      restored: 1_000,
      loud: [],
    });
    await lab.write('rows', [
      ['k7', 'again'],
      ['k8', null],
      ['new', 'one'],
    ]);
    expect(await answers('k7', 'k8', 'k9', 'new')).toEqual({
      answers: ['AGAIN', 'none', 'V9', 'ONE'],
      restored: 3,
      loud: [],
    });
  });

  it('52: is wiped, with one warning, when its topic was created anew', async () => {
    lab = await Lab.open({ in: 1, out: 1, rows: 1 });
    await lab.write('rows', numbered(0, 50));
    await answers('k0');
    await lab.deleteTopic('rows');
    await lab.createTopic('rows', 1);
    // More than it had: the offset alone does not tell.
    await lab.write('rows', numbered(1, 101, 'w'));
    expect(await answers('k0', 'k1')).toEqual({
      answers: ['none', 'W1'],
      restored: 100,
      loud: [expect.stringContaining('the topic was created anew')],
    });
    expect(await answers('k1')).toEqual({ answers: ['W1'], restored: 0, loud: [] });
  });

  it('65: is wiped once when its file is damaged, and rebuilt', async () => {
    lab = await Lab.open({ in: 1, out: 1, rows: 1 });
    await lab.write('rows', numbered(0, 50));
    await answers('k0');
    truncateSync(lab.taskFile('data.mdb', 'global/0'), 100);
    expect(await answers('k0')).toEqual({
      answers: ['V0'],
      restored: 50,
      loud: [expect.stringContaining('is damaged')],
    });
    expect(await answers('k0')).toEqual({ answers: ['V0'], restored: 0, loud: [] });
  });
});
