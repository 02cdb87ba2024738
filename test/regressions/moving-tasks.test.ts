/** Bugs that users of other stream processors hit when tasks with state move; the number is the report's. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { serdes, StreamsBuilder, type Topology } from '@millrace/runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { APPLICATION_ID, type Entry, eventually, Lab, type Running } from './lab.ts';
import { texts } from './topologies.ts';

const PARTITIONS = 4;
const KEYS = 50;
const TIMEOUT_MS = 60_000;

let lab: Lab;
afterEach(() => lab.close());

function counting(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', texts)
    .groupByKey()
    .count({ store: 'counts' })
    .toStream()
    .to('out', { key: serdes.string(), value: serdes.long() });
  return builder.build();
}

function records(count: number): Entry[] {
  return Array.from({ length: count }, (_, i) => [`k${String(i % KEYS)}`, 'v']);
}

async function sum(): Promise<number> {
  return Object.values(await lab.numbers('out')).reduce((total, count) => total + count, 0);
}

function loudOf(...applications: readonly Running[]): string[] {
  return applications.flatMap(({ loud }) => loud);
}

describe('tasks with state that move', () => {
  it(
    '68, 178: have their directory to themselves, however often they move and however eager the clean-up is, and log nothing above info (KAFKA-13423, kafkajs#1279)',
    async () => {
      lab = await Lab.open({ in: PARTITIONS, out: 1 });
      const config = { 'state.cleanup.delay.ms': 0, 'num.stream.threads': 2 };
      const stays = await lab.start(counting(), config);
      const stateDir = temporaryDirectory();
      const comeAndGo: Running[] = [];
      let written = 0;
      const write = async (count: number): Promise<void> => {
        await lab.write('in', records(count));
        written += count;
      };
      for (let round = 0; round < 5; round++) {
        await write(300);
        const other = await lab.start(counting(), { ...config, 'state.dir': stateDir });
        comeAndGo.push(other);
        await write(300);
        await eventually(() => stays.streams.state === 'RUNNING');
        expect(await other.close()).toBe(true);
      }
      // All tasks are back when this is counted.
      await write(200);
      await eventually(async () => (await sum()) === written);
      expect(await stays.close()).toBe(true);
      expect(loudOf(stays, ...comeAndGo)).toEqual([]);

      // Each task's state stands at the end of its changelog.
      const again = await lab.start(counting(), config);
      const ends = again.progress.filter(({ kind }) => kind === 'end');
      expect(ends.map(({ restoredRecords }) => restoredRecords)).toEqual([0, 0, 0, 0]);
      await write(100);
      await eventually(async () => (await sum()) === written);
    },
    TIMEOUT_MS,
  );

  it(
    '79: advance in all partitions after a rebalance while they were restored',
    async () => {
      lab = await Lab.open({ in: PARTITIONS, out: 1 });
      await lab.createTopic('app-counts-changelog', PARTITIONS);
      const one = Buffer.alloc(8).toString();
      for (let partition = 0; partition < PARTITIONS; partition++) {
        const entries = Array.from({ length: 30_000 }, (_, i): Entry => [
          `p${String(partition)}-${String(i)}`,
          one,
        ]);
        await lab.write('app-counts-changelog', entries, { partition });
      }
      const first = lab.create(counting());
      let isRestoring = false;
      first.streams.restore$.subscribe(() => (isRestoring = true));
      await first.streams.start();
      await eventually(() => isRestoring);
      const second = await lab.start(counting(), { 'state.dir': temporaryDirectory() });
      await eventually(() => first.streams.state === 'RUNNING');
      for (let partition = 0; partition < PARTITIONS; partition++) {
        await lab.write('in', [[`p${String(partition)}-7`, 'v']], { partition });
      }
      await eventually(async () => Object.keys(await lab.numbers('out')).length === PARTITIONS);
      // Each key was in the changelog with 0.
      expect(Object.values(await lab.numbers('out'))).toEqual([1, 1, 1, 1]);
      expect(loudOf(first, second)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  it(
    '80: count every record once when a third instance joins half-way',
    async () => {
      const count = 10_000;
      lab = await Lab.open({ in: PARTITIONS, out: 1 });
      const start = () => lab.start(counting(), { 'state.dir': temporaryDirectory() });
      const instances = [await start(), await start()];
      const half = records(count).slice(0, count / 2);
      await lab.write('in', half);
      const [, third] = await Promise.all([lab.write('in', half), start()]);
      instances.push(third);
      await eventually(async () => (await sum()) === count);
      await eventually(async () => {
        const committed = await Promise.all(
          Array.from({ length: PARTITIONS }, (_, partition) => lab.committed('in', partition)),
        );
        return (
          committed.reduce((total: bigint, each) => total + (each ?? 0n), 0n) === BigInt(count)
        );
      });
      expect(Object.values(await lab.numbers('out'))).toEqual(
        Array.from({ length: KEYS }, () => count / KEYS),
      );
      expect(loudOf(...instances)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

describe('local state of an application', () => {
  const directory = (task: string, stateDir = lab.stateDir): boolean =>
    existsSync(join(stateDir, APPLICATION_ID, task));

  it.each([
    ['0', false],
    ['10m', true],
  ])(
    'of a task that went elsewhere is removed after state.cleanup.delay.ms: %s',
    async (delay, isKept) => {
      lab = await Lab.open({ in: 2, out: 1 });
      const first = await lab.start(counting(), { 'state.cleanup.delay.ms': delay });
      await lab.write('in', records(100));
      await eventually(async () => (await sum()) === 100);
      expect([directory('0_0'), directory('0_1')]).toEqual([true, true]);
      const elsewhere = temporaryDirectory();
      const second = await lab.start(counting(), { 'state.dir': elsewhere });
      await eventually(() => directory('0_0', elsewhere) || directory('0_1', elsewhere));
      const gone = directory('0_0', elsewhere) ? '0_0' : '0_1';
      if (isKept) await new Promise((resolve) => setTimeout(resolve, 1_500));
      else await eventually(() => !directory(gone));
      expect(directory(gone)).toBe(isKept);
      expect(directory(gone === '0_0' ? '0_1' : '0_0')).toBe(true);
      await lab.write('in', records(100));
      await eventually(async () => (await sum()) === 200);
      expect(loudOf(first, second)).toEqual([]);
    },
  );

  it('is removed by cleanUp(), which an application that runs refuses, and restored then', async () => {
    lab = await Lab.open({ in: 2, out: 1 });
    const running = await lab.start(counting());
    await lab.write('in', records(100));
    await eventually(async () => (await sum()) === 100);
    await expect(running.streams.cleanUp()).rejects.toMatchObject({ code: 'INVARIANT' });
    const other = lab.create(counting());
    await expect(other.streams.cleanUp()).rejects.toMatchObject({ code: 'STATE_DIR_LOCKED' });
    await running.close();
    expect([directory('0_0'), directory('0_1')]).toEqual([true, true]);
    await running.streams.cleanUp();
    expect([directory('0_0'), directory('0_1')]).toEqual([false, false]);

    const again = await lab.start(counting());
    const restored = again.progress.filter(({ kind }) => kind === 'end');
    expect(restored.reduce((total, end) => total + end.restoredRecords, 0)).toBe(100);
    await lab.write('in', records(100));
    await eventually(async () => (await sum()) === 200);
  });

  it('is held by one application at a time: another one does not start, and is told who has it', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    const first = await lab.start(counting());
    const second = lab.create(counting());
    await expect(second.streams.start()).rejects.toMatchObject({
      code: 'STATE_DIR_LOCKED',
      message: expect.stringContaining(`process ${String(process.pid)}`) as string,
    });
    expect(second.streams.state).toBe('ERROR');
    await lab.write('in', records(100));
    await eventually(async () => (await sum()) === 100);
    await first.close();
    const third = await lab.start(counting());
    expect(loudOf(first, third)).toEqual([]);
  });
});
