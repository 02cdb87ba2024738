import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Disk } from './disk.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryDisk } from './memory-disk.ts';
import { OverlayDisk, shieldedDisk } from './overlay-disk.ts';

const PATHS = ['/d/a', '/d/b', '/d/e/c'];

function newDisk(): MemoryDisk {
  const disk = new MemoryDisk();
  disk.makeDirectory('/d/e');
  disk.writeFile('/d/a', Buffer.from('0123456789'));
  disk.writeFile('/d/e/c', Buffer.from('abc'));
  return disk;
}

/** Content of every file, and what each directory lists. */
function stateOf(disk: Disk): unknown {
  return ['/d', '/d/e'].map((directory) =>
    disk.stat(directory)?.isDirectory === true
      ? disk.list(directory).map(({ name, isDirectory }) => {
          const file = `${directory}/${name}`;
          if (isDirectory) return [name];
          return [name, disk.stat(file)?.sizeBytes, disk.readFile(file).toString('hex')];
        })
      : null,
  );
}

type Step = (disk: Disk) => unknown;

const file = fc.constantFrom(...PATHS);
const steps = fc.array(
  fc.oneof(
    fc
      .tuple(
        file,
        fc.constantFrom('create' as const, 'readWrite' as const),
        fc.nat(14),
        fc.string(),
      )
      .map(([path, mode, position, text]): Step => (disk) => {
        const handle = disk.open(path, mode);
        handle.write(Buffer.from(text), position);
        handle.close();
      }),
    fc.tuple(file, fc.nat(14)).map(([path, size]): Step => (disk) => {
      const handle = disk.open(path, 'readWrite');
      handle.truncate(size);
      handle.close();
    }),
    fc.tuple(file, fc.nat(14), fc.nat(14)).map(([path, position, length]): Step => (disk) => {
      const target = Buffer.alloc(20);
      const count = disk.open(path, 'read').read(target, 3, length, position);
      return [count, target.toString('hex')];
    }),
    file.map(
      (path): Step =>
        (disk) =>
          disk.unlink(path),
    ),
    fc.constantFrom(['/d/a', '/d/b'], ['/d/b', '/d/a']).map(
      ([from, to]): Step =>
        (disk) =>
          disk.rename(from, to),
    ),
    fc.tuple(file, fc.string()).map(([path, text]): Step => (disk) => {
      disk.writeFile(path, Buffer.from(text));
    }),
    fc.constant<Step>((disk) => {
      disk.makeDirectory('/d/e');
    }),
    fc.tuple(file, fc.nat(99)).map(([path, ms]): Step => (disk) => {
      disk.setModified(path, ms);
      return disk.stat(path)?.modifiedMs;
    }),
  ),
  { maxLength: 20 },
);

function outcomeOf(step: Step, disk: Disk): unknown {
  try {
    return step(disk) ?? null;
  } catch (error) {
    return (error as { code?: string }).code ?? error;
  }
}

describe('an overlay disk', () => {
  it('behaves as the disk below would, which stays as it is', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const below = newDisk();
        const before = stateOf(below);
        const overlay = new OverlayDisk(below, new FakeClock());
        const model = newDisk();
        const { operationCount } = below;
        for (const step of all) {
          expect(outcomeOf(step, overlay)).toEqual(outcomeOf(step, model));
          expect(stateOf(overlay)).toEqual(stateOf(model));
        }
        expect(stateOf(below)).toEqual(before);
        expect(below.operationCount).toBe(operationCount);
      }),
      { numRuns: 300 },
    );
  });

  it('moves and removes directories', async () => {
    const below = newDisk();
    const overlay = new OverlayDisk(below);
    overlay.rename('/d/e', '/d/f');
    expect(overlay.readFile('/d/f/c').toString()).toBe('abc');
    expect(overlay.stat('/d/e/c')).toBeNull();
    expect(() => overlay.list('/d/e')).toThrow('ENOENT');
    await overlay.removeTree('/d/f');
    expect(overlay.list('/d')).toEqual([{ name: 'a', isDirectory: false }]);
    expect(() => overlay.open('/d/e/c', 'create')).toThrow('ENOENT');
    expect(below.readFile('/d/e/c').toString()).toBe('abc');
  });

  it('tells which files have lost bytes', () => {
    const overlay = new OverlayDisk(newDisk());
    const lost = (): unknown => overlay.lostBytes(() => true);
    overlay.setModified('/d/a', 5);
    const handle = overlay.open('/d/a', 'readWrite');
    handle.write(Buffer.from('more'), 10);
    expect(lost()).toEqual([]);
    handle.truncate(4);
    overlay.unlink('/d/e/c');
    expect(lost()).toEqual([
      { path: '/d/a', position: 4, sizeBytes: 6 },
      { path: '/d/e/c', position: 0, sizeBytes: 3 },
    ]);
    expect(overlay.lostBytes((path) => path === '/d/b')).toEqual([]);
  });

  it('can stand before some files alone', () => {
    const below = newDisk();
    const disk = shieldedDisk(below, (path) => path.startsWith('/d/a'));
    disk.writeFile('/d/a', Buffer.from('new'));
    disk.writeFile('/d/b', Buffer.from('other'));
    disk.rename('/d/a', '/d/a2');
    expect(disk.readFile('/d/a2').toString()).toBe('new');
    expect(disk.stat('/d/a')).toBeNull();
    expect(below.readFile('/d/a').toString()).toBe('0123456789');
    expect(below.readFile('/d/b').toString()).toBe('other');
  });
});
