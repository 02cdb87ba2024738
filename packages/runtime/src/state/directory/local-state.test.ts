import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../logging/logger.ts';
import { describeLocalState, holdLocalState } from './local-state.ts';
import { StateDirectory } from './state-directory.ts';

const place = (): { readonly stateDir: string; readonly applicationId: string } => ({
  stateDir,
  applicationId: 'app',
});
const logger = silentLogger();
let stateDir: string;

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-state-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

function fill(...path: string[]): void {
  const directory = join(stateDir, 'app', ...path);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'data'), 'x'.repeat(10));
}

describe('local state from the outside', () => {
  it('is told with its tasks, their sizes and its holder, and not changed', async () => {
    expect(await describeLocalState(place())).toBeNull();
    const directory = await StateDirectory.open({ ...place(), logger });
    for (const task of ['10_0', '0_10', '0_9']) fill(task, 'counts');
    fill('0_9', 'other');
    fill('global', '0');
    mkdirSync(join(stateDir, 'app', 'mine'));
    const before = readdirSync(join(stateDir, 'app'));
    const found = await describeLocalState(place());
    expect(found).toMatchObject({
      directory: join(stateDir, 'app'),
      holder: expect.stringMatching(`^process ${String(process.pid)}, started `) as string,
      isOurs: true,
      globalBytes: 10,
    });
    expect(found?.tasks.map(({ task, bytes }) => [task, bytes])).toEqual([
      ['0_9', 20],
      ['0_10', 10],
      ['10_0', 10],
    ]);
    expect(readdirSync(join(stateDir, 'app'))).toEqual(before);
    await directory.close(true);
    expect(await describeLocalState(place())).toMatchObject({ holder: null });
  });

  it('of another library is known as such', async () => {
    fill('0_0', 'rocksdb');
    expect(await describeLocalState(place())).toMatchObject({ isOurs: false, holder: null });
  });

  it('is held while it is removed, and nothing but state is removed', async () => {
    await (await StateDirectory.open({ ...place(), logger })).close(true);
    fill('0_0', 'counts');
    fill('global', '0');
    fill('mine');
    const held = await holdLocalState({ ...place(), logger });
    await expect(holdLocalState({ ...place(), logger })).rejects.toMatchObject({
      code: 'STATE_DIR_LOCKED',
    });
    held.remove();
    await held.release();
    expect(await describeLocalState(place())).toMatchObject({
      holder: null,
      isOurs: true,
      tasks: [],
      globalBytes: null,
    });
    expect(readdirSync(join(stateDir, 'app'))).toContain('mine');
  });
});
