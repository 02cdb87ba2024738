import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../logging/logger.ts';
import { isTemporary } from '../../platform/directories.ts';
import { StateDirectory } from './state-directory.ts';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-state-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const open = (): Promise<StateDirectory> =>
  StateDirectory.open({ stateDir, applicationId: 'app', logger: silentLogger() });

function markOf(directory: StateDirectory): string {
  return join(directory.path, 'millrace-state');
}

describe('StateDirectory', () => {
  it('belongs to one owner at a time, whatever path leads to it', async () => {
    const first = await open();
    await expect(open()).rejects.toMatchObject({
      code: 'STATE_DIR_LOCKED',
      message: expect.stringContaining(`process ${String(process.pid)}`) as string,
    });
    await expect(
      StateDirectory.open({
        stateDir: join(stateDir, '..', stateDir.split('/').at(-1) as string),
        applicationId: 'app',
        logger: silentLogger(),
      }),
    ).rejects.toThrow('give this instance another state.dir');
    await first.close(true);
    await (await open()).close(true);
  });

  it('says so if the system may empty it', async () => {
    const said: string[] = [];
    const logger = pino(
      { level: 'info' },
      { write: (line: string) => void said.push((JSON.parse(line) as { msg: string }).msg) },
    );
    await (await StateDirectory.open({ stateDir, applicationId: 'app', logger })).close(true);
    expect(said).toEqual([expect.stringContaining('which the system may empty')]);
    expect(isTemporary(tmpdir())).toBe(false);
    expect(isTemporary(`${tmpdir()}-other/app`)).toBe(false);
  });

  it('keeps state over a kill, and over a power loss only what was closed', async () => {
    const first = await open();
    mkdirSync(first.taskPath('0_1'));
    await first.close(false); // as after kill -9: no mark that it is clean
    const second = await open();
    expect(second.tasks()).toEqual(['0_1']);
    const mark = readFileSync(markOf(second), 'utf8');
    await second.close(true);

    // The machine went down after a clean close: nothing is lost.
    writeFileSync(
      markOf(second),
      readFileSync(markOf(second), 'utf8').replace(/ \S+ /, ' other-boot '),
    );
    const third = await open();
    expect(third.tasks()).toEqual(['0_1']);
    await third.close(false);

    // And now while it was in use.
    writeFileSync(markOf(second), mark.replace(/ \S+ /, ' other-boot '));
    const fourth = await open();
    expect(fourth.tasks()).toEqual([]);
    await fourth.close(true);
  });

  it('wipes what has another format, or none', async () => {
    const first = await open();
    mkdirSync(first.taskPath('0_0'));
    await first.close(true);
    writeFileSync(markOf(first), readFileSync(markOf(first), 'utf8').replace(/^1/, '2'));
    const second = await open();
    expect(second.tasks()).toEqual([]);
    mkdirSync(second.taskPath('0_0'));
    await second.close(true);
    rmSync(markOf(second));
    const third = await open();
    expect(third.tasks()).toEqual([]);
    await third.close(true);
  });

  it('cleans up tasks that are gone for long, and nothing else', async () => {
    const directory = await open();
    for (const name of ['0_0', '0_1', '1_0', 'mine']) mkdirSync(directory.taskPath(name));
    for (const name of ['0_0', '0_1', 'mine']) utimesSync(directory.taskPath(name), 1, 1);
    directory.cleanUp((task) => task === '0_0', Date.now(), 600_000);
    expect(directory.tasks().sort()).toEqual(['0_0', '1_0']);
    directory.removeAll();
    expect(directory.tasks()).toEqual([]);
    await directory.close(true);
  });

  it('counts the global stores as state: never cleaned up, wiped with all the rest', async () => {
    const first = await open();
    mkdirSync(first.globalPath);
    utimesSync(first.globalPath, 1, 1);
    first.cleanUp(() => false, Date.now(), 0);
    expect(existsSync(first.globalPath)).toBe(true);
    await first.close(true);
    rmSync(markOf(first));
    const second = await open();
    expect(existsSync(second.globalPath)).toBe(false);
    mkdirSync(second.globalPath);
    second.removeAll();
    expect(existsSync(second.globalPath)).toBe(false);
    await second.close(true);
  });

  it('gives a task to one holder at a time, and leaves alone what is held', async () => {
    const directory = await open();
    mkdirSync(directory.taskPath('0_0'));
    utimesSync(directory.taskPath('0_0'), 1, 1);
    expect(directory.released('0_0')).toBeUndefined();
    directory.hold('0_0', 'thread-1');
    expect(() => {
      directory.hold('0_0', 'thread-2');
    }).toThrow(/0_0 is still in use by thread-1: thread-2 tries again/);
    directory.cleanUp(() => false, Date.now(), 0);
    expect(directory.tasks()).toEqual(['0_0']);

    const released = directory.released('0_0');
    directory.release('0_0', Date.now(), true);
    await released;
    directory.hold('0_0', 'thread-2');
    directory.release('0_0', Date.now(), true);
    // Its age counts from when it was let go.
    directory.cleanUp(() => false, Date.now(), 60_000);
    expect(directory.tasks()).toEqual(['0_0']);
    directory.cleanUp(() => false, Date.now() + 60_001, 60_000);
    expect(directory.tasks()).toEqual([]);
    await directory.close(true);
  });

  it('is clean only if everything in it was closed cleanly', async () => {
    const ends: string[] = [];
    for (const isClean of [true, false]) {
      const directory = await open();
      mkdirSync(directory.taskPath('0_0'), { recursive: true });
      directory.hold('0_0', 'thread-1');
      directory.release('0_0', Date.now(), isClean);
      await directory.close(true);
      ends.push(readFileSync(markOf(directory), 'utf8').trim().split(' ').at(-1) ?? '');
    }
    expect(ends).toEqual(['clean', 'open']);
  });
});
