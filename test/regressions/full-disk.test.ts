/** The disk of the state directory is full: processing stops, and nothing is lost once there is room. */
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KafkaStreamsOptions } from '@millrace/runtime';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { eventually, Lab } from './lab.ts';
import { contentsOf, numbered, objectOf, shelf } from './shelf.ts';

const DISK_BYTES = 24 * 1024 * 1024;
/** What waits for the disk for 10 s is written; this clock gets there sooner. */
const FASTER = 20;
const fastClock: NonNullable<KafkaStreamsOptions['clock']> = {
  now: () => Date.now(),
  monotonicMs: () => performance.now() * FASTER,
  setTimer(ms, fn) {
    const timer = setTimeout(fn, ms / FASTER);
    return {
      cancel: () => {
        clearTimeout(timer);
      },
    };
  },
};

function mountSmallDisk(): string | null {
  const directory = temporaryDirectory();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${String(DISK_BYTES)}`, 'tmpfs', directory], {
      stdio: 'ignore',
    });
    return directory;
  } catch {
    // Only root may mount, where it is allowed at all.
    return null;
  }
}

const disk = mountSmallDisk();

describe.skipIf(disk === null)('a full disk', () => {
  const stateDir = disk ?? '';
  const ballast = join(stateDir, 'ballast');
  let lab: Lab;

  afterEach(() => lab.close());
  afterAll(() => {
    execFileSync('umount', [stateDir]);
  });

  it('stops processing with STORAGE_FULL, and after room is made nothing is missing', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    const config = { 'state.dir': stateDir };
    const running = await lab.start(shelf('a'), config, { clock: fastClock });
    const entries = numbered(0, 1_000);
    await lab.write('in', entries);
    expect(await contentsOf(lab)).toEqual({ a: objectOf(entries) });
    writeFileSync(ballast, Buffer.alloc(DISK_BYTES >> 1));
    await eventually(async () => {
      await lab.write('in', [['k1', 'while it was full']]);
      return running.streams.state === 'ERROR';
    });
    expect(running.streams.failure).toMatchObject({ code: 'STORAGE_FULL' });
    expect(running.streams.failure?.message).toContain(stateDir);
    expect(running.loud).toContain('the stream thread failed');

    // Starting again without room ends the same way, and does no harm either.
    const second = lab.create(shelf('a'), config, { clock: fastClock });
    await second.streams.start().catch(() => undefined);
    await lab.write('in', [['k0', 'later']]);
    await eventually(() => second.streams.state === 'ERROR');
    expect(second.streams.failure).toMatchObject({ code: 'STORAGE_FULL' });

    rmSync(ballast);
    const third = await lab.start(shelf('a'), config);
    expect(await contentsOf(lab)).toEqual({
      a: { ...objectOf(entries), k0: 'later', k1: 'while it was full' },
    });
    expect(third.loud).toEqual([]);
  });
});
