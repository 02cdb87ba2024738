/** `millrace clean` on a disk that is full, or that cannot be written to. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LogDir, parseLogConfig } from '@millrace/compaction';
import { BatchBuilder } from '@millrace/protocol';
import { afterAll, describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const DISK_BYTES = 3 * 1024 * 1024;
const RECORDS = 1_000;
const VALUE = 'x'.repeat(1_000);

function mountSmallDisk(): string | null {
  const directory = temporaryDirectory();
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${String(DISK_BYTES)}`, 'tmpfs', directory];
    execFileSync('mount', options, { stdio: 'ignore' });
    return directory;
  } catch {
    // Only root may mount, where it is allowed at all.
    return null;
  }
}

const mounted = mountSmallDisk();

describe.skipIf(mounted === null)('a disk of 3 MiB with a log of a third of that', () => {
  const root = mounted ?? '';
  const remount = (mode: 'ro' | 'rw'): void => {
    execFileSync('mount', ['-o', `remount,${mode}`, root]);
  };

  afterAll(() => {
    execFileSync('umount', [root]);
  });

  const clean = (...args: string[]): ReturnType<typeof runHere> =>
    runHere(['clean', '--dir', root, '--config', 'cleanup.policy=compact', ...args]);

  const segments = (): Record<string, string> => {
    const directory = join(root, 't-0');
    const names = readdirSync(directory).filter((name) => name.startsWith('0'.repeat(20)));
    return Object.fromEntries(
      names.map((name) => [name, readFileSync(join(directory, name)).toString('base64')]),
    );
  };

  it('is cleaned once there is room and it may be written to, and is as it was until then', async () => {
    const dir = await LogDir.open(root);
    const log = dir.createLog('t', 0, null, parseLogConfig(new Map()));
    for (let i = 0; i <= RECORDS; i++) {
      const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
      // Of the first two, one is superseded.
      builder.appendBytes(
        Date.now(),
        Buffer.from(`k${String(Math.max(1, i))}`),
        Buffer.from(VALUE),
        null,
      );
      log.appendAsLeader(Buffer.from(builder.build({})));
    }
    log.roll();
    await dir.close();
    const before = segments();

    const { bavail, bsize } = statfsSync(root);
    const ballast = join(root, 'ballast');
    writeFileSync(ballast, Buffer.alloc(bavail * bsize - 100_000));
    const full = await clean();
    expect(full.code).toBe(1);
    expect(full.err).toMatch(
      /t-0: no space left to write .*\.log\.cleaned at byte \d+: free space/,
    );
    expect(segments()).toEqual(before);
    expect((await clean('--dry-run')).out).toContain('a pass would remove 1 of 1001 records');

    remount('ro');
    const readOnly = await clean();
    expect(readOnly.code).toBe(1);
    expect(readOnly.err).toMatch(/could not lock .*: EROFS/);
    const dry = await clean('--dry-run', '--json');
    expect(dry.code).toBe(0);
    expect(JSON.parse(dry.out)).toMatchObject({ wouldRemove: { records: 1 }, error: null });
    expect(segments()).toEqual(before);

    remount('rw');
    rmSync(ballast);
    const done = await clean();
    expect(done).toMatchObject({ code: 0, out: expect.stringContaining('cleaned: ') as string });
    const size = statSync(join(root, 't-0', `${'0'.repeat(20)}.log`)).size;
    expect(size).toBeLessThan(Buffer.from(before[`${'0'.repeat(20)}.log`] ?? '', 'base64').length);
  });
});
