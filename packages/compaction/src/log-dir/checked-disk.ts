import { SYNC, toLogDirError } from '../errors.ts';
import type { Disk, DiskFile } from '../platform/disk.ts';

/** A disk whose every failure is a LogDirError (or StorageFullError) naming what, file and position. */
export function checkedDisk(disk: Disk): Disk {
  return {
    open: (path, mode) => new CheckedFile(check('open', path, () => disk.open(path, mode))),
    stat: (path) => check('look at', path, () => disk.stat(path)),
    list: (directory) => check('list', directory, () => disk.list(directory)),
    readFile: (path) => check('read', path, () => disk.readFile(path)),
    writeFile: (path, content) => {
      check('write', path, () => {
        disk.writeFile(path, content);
      });
    },
    makeDirectory: (path) => {
      check('make directory', path, () => {
        disk.makeDirectory(path);
      });
    },
    rename: (from, to) => {
      check(`rename to ${to}`, from, () => {
        disk.rename(from, to);
      });
    },
    unlink: (path) => {
      check('unlink', path, () => {
        disk.unlink(path);
      });
    },
    setModified: (path, modifiedMs) => {
      check('set the time of', path, () => {
        disk.setModified(path, modifiedMs);
      });
    },
    removeTree: (path) => checkLater('remove', path, disk.removeTree(path)),
    syncDirectory: (path) => checkLater('sync directory', path, disk.syncDirectory(path)),
  };
}

function check<T>(what: string, path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw toLogDirError(error, what, path);
  }
}

async function checkLater(what: string, path: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw toLogDirError(error, what, path);
  }
}

class CheckedFile implements DiskFile {
  readonly #file: DiskFile;

  constructor(file: DiskFile) {
    this.#file = file;
  }

  get path(): string {
    return this.#file.path;
  }

  sizeBytes(): number {
    return check('look at', this.path, () => this.#file.sizeBytes());
  }

  read(target: Buffer, start: number, length: number, position: number): number {
    try {
      return this.#file.read(target, start, length, position);
    } catch (error) {
      throw toLogDirError(error, 'read', this.path, position);
    }
  }

  write(source: Buffer, position: number): void {
    try {
      this.#file.write(source, position);
    } catch (error) {
      throw toLogDirError(error, 'write', this.path, position);
    }
  }

  truncate(sizeBytes: number): void {
    try {
      this.#file.truncate(sizeBytes);
    } catch (error) {
      throw toLogDirError(error, 'truncate', this.path, sizeBytes);
    }
  }

  sync(): Promise<void> {
    return checkLater(SYNC, this.path, this.#file.sync());
  }

  close(): void {
    check('close', this.path, () => {
      this.#file.close();
    });
  }
}
