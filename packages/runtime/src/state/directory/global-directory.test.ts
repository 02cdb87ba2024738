import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../logging/logger.ts';
import { GlobalDirectory } from './global-directory.ts';
import { StateDirectory } from './state-directory.ts';

let stateDir: string;
let directory: StateDirectory;
beforeEach(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-state-'));
  directory = await StateDirectory.open({ stateDir, applicationId: 'app', logger: silentLogger() });
});
afterEach(async () => {
  await directory.close(true);
  rmSync(stateDir, { recursive: true, force: true });
});

const make = (place: string): void => {
  mkdirSync(directory.taskPath(place), { recursive: true });
};
const isThere = (place: string): boolean => existsSync(directory.taskPath(place));

describe('GlobalDirectory', () => {
  it('begins with the first place, and gives each fresh state another one', () => {
    const places = new GlobalDirectory(directory);
    expect([places.current, places.fresh(), places.fresh()]).toEqual([
      'global/0',
      'global/1',
      'global/2',
    ]);
    expect(places.current).toBe('global/0');
  });

  it('goes on from the place that was adopted last; the others go at the next start', () => {
    const places = new GlobalDirectory(directory);
    make(places.current);
    const [given, other] = [places.fresh(), places.fresh()];
    make(given);
    make(other);
    places.adopt(given);
    expect(places.current).toBe(given);

    const next = new GlobalDirectory(directory);
    expect(next.current).toBe(given);
    expect(['global/0', given, other].filter(isThere)).toEqual([given]);
    expect(next.fresh()).toBe('global/2');
  });

  it('drops a fresh state that was never adopted', () => {
    make('global/0');
    make(new GlobalDirectory(directory).fresh());
    expect(new GlobalDirectory(directory).current).toBe('global/0');
    expect(['global/0', 'global/1'].filter(isThere)).toEqual(['global/0']);
  });
});
