import fs, { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeAtomically } from './atomic-file.ts';
import { CoalescingTask } from './coalescing-task.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryDisk } from './memory-disk.ts';
import { nodeDisk } from './node-disk.ts';
import { OverlayDisk } from './overlay-disk.ts';
import type { Disk } from './disk.ts';

describe('a coalescing task', () => {
  it('runs once for a tick, once more for what comes while it runs, never two at a time', async () => {
    let running = 0;
    let runs = 0;
    const task = new CoalescingTask(async () => {
      expect(++running).toBe(1);
      runs++;
      await new Promise(setImmediate);
      running--;
    });
    const first = [task.request(), task.request()];
    await Promise.resolve();
    await Promise.resolve();
    const second = [task.request(), task.request(), task.request()];
    await Promise.all([...first, ...second]);
    expect(runs).toBe(2);
    await task.request();
    expect(runs).toBe(3);
  });

  it('tells a failure to those who asked for that run, and goes on', async () => {
    let fails = true;
    const task = new CoalescingTask(async () => {
      await Promise.resolve();
      if (fails) throw new Error('no');
    });
    await expect(task.request()).rejects.toThrow('no');
    fails = false;
    await task.request();
    await task.settled();
  });
});

describe('a fake clock', () => {
  it('fires what is due, in order, and no cancelled timer', () => {
    const clock = new FakeClock(1000);
    const fired: string[] = [];
    clock.setTimer(20, () => fired.push('b'));
    clock.setTimer(10, () => fired.push(`a at ${String(clock.now())}`));
    clock.setTimer(15, () => fired.push('never')).cancel();
    clock.advance(19);
    expect(fired).toEqual(['a at 1010']);
    clock.advance(1);
    expect(fired).toEqual(['a at 1010', 'b']);
    expect(clock.timerCount).toBe(0);
  });
});

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'disk-'));
});
afterEach(() => {
  rmSync(root, { recursive: true });
});

const disks: Record<string, () => Disk> = {
  node: () => nodeDisk,
  memory: () => {
    const disk = new MemoryDisk();
    disk.makeDirectory(root);
    return disk;
  },
  overlay: () => new OverlayDisk(nodeDisk),
};

for (const [name, make] of Object.entries(disks)) {
  describe(`the ${name} disk`, () => {
    it('reads what was written, where it was written', async () => {
      const disk = make();
      const file = disk.open(path.join(root, 'f'), 'create');
      file.write(Buffer.from('hello world'), 0);
      file.write(Buffer.from('W'), 6);
      const target = Buffer.alloc(20);
      expect(file.read(target, 2, 18, 6)).toBe(5);
      expect(target.subarray(2, 7).toString()).toBe('World');
      file.truncate(5);
      expect(file.sizeBytes()).toBe(5);
      const synced = file.sync();
      file.close();
      await synced;
      expect(disk.readFile(path.join(root, 'f')).toString()).toBe('hello');
    });

    it('lists a link to a directory as one, and one that leads nowhere', () => {
      if (name === 'memory') return;
      fs.mkdirSync(path.join(root, 'elsewhere'));
      fs.symlinkSync(path.join(root, 'elsewhere'), path.join(root, 'link'));
      fs.symlinkSync(path.join(root, 'nowhere'), path.join(root, 'lost'));
      expect(make().list(root)).toEqual([
        { name: 'elsewhere', isDirectory: true },
        { name: 'link', isDirectory: true },
        { name: 'lost', isDirectory: false },
      ]);
    });

    it('tells what is there, and what is not', async () => {
      const disk = make();
      const at = (one: string): string => path.join(root, one);
      expect(disk.stat(at('f'))).toBeNull();
      expect(() => disk.open(at('f'), 'read')).toThrow(/ENOENT/);
      expect(() => disk.open(at('f'), 'readWrite')).toThrow(/ENOENT/);
      disk.unlink(at('f'));
      disk.makeDirectory(at('d/e'));
      disk.writeFile(at('d/b'), Buffer.from('1'));
      disk.writeFile(at('d/a'), Buffer.from('22'));
      expect(disk.list(at('d'))).toEqual([
        { name: 'a', isDirectory: false },
        { name: 'b', isDirectory: false },
        { name: 'e', isDirectory: true },
      ]);
      disk.rename(at('d'), at('g'));
      expect(disk.stat(at('g/a'))?.sizeBytes).toBe(2);
      disk.setModified(at('g/a'), 5000);
      expect(disk.stat(at('g/a'))?.modifiedMs).toBe(5000);
      await disk.removeTree(at('g'));
      await disk.removeTree(at('g'));
      expect(disk.list(root)).toEqual([]);
    });

    it('replaces a file as a whole', async () => {
      const disk = make();
      const file = path.join(root, 'c');
      await writeAtomically(disk, file, Buffer.from('one'));
      await writeAtomically(disk, file, Buffer.from('two'));
      expect(disk.readFile(file).toString()).toBe('two');
      expect(disk.list(root).map((one) => one.name)).toEqual(['c']);
    });
  });
}
