import fs from 'node:fs';
import { join } from 'node:path';
import type { DirectoryEntry, Disk, DiskFile, FileStat, OpenMode } from './disk.ts';

const FLAGS: Readonly<Record<OpenMode, number>> = {
  read: fs.constants.O_RDONLY,
  readWrite: fs.constants.O_RDWR,
  create: fs.constants.O_RDWR | fs.constants.O_CREAT,
};

const isAbsent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** A link to a directory is one, as for Kafka; one that leads nowhere is not. */
function isDirectory(directory: string, entry: fs.Dirent): boolean {
  if (!entry.isSymbolicLink()) return entry.isDirectory();
  const target = fs.statSync(join(directory, entry.name), { throwIfNoEntry: false });
  return target?.isDirectory() === true;
}

class NodeFile implements DiskFile {
  readonly path: string;
  readonly #fd: number;
  #syncsInFlight = 0;
  #isClosing = false;

  constructor(path: string, mode: OpenMode) {
    this.path = path;
    this.#fd = fs.openSync(path, FLAGS[mode], 0o644);
  }

  sizeBytes(): number {
    return fs.fstatSync(this.#fd).size;
  }

  read(target: Buffer, start: number, length: number, position: number): number {
    let done = 0;
    while (done < length) {
      const count = fs.readSync(this.#fd, target, start + done, length - done, position + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  write(source: Buffer, position: number): void {
    let done = 0;
    while (done < source.length) {
      done += fs.writeSync(this.#fd, source, done, source.length - done, position + done);
    }
  }

  truncate(sizeBytes: number): void {
    fs.ftruncateSync(this.#fd, sizeBytes);
  }

  sync(): Promise<void> {
    this.#syncsInFlight++;
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.#fd, (error) => {
        this.#syncsInFlight--;
        if (this.#isClosing && this.#syncsInFlight === 0) fs.closeSync(this.#fd);
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** The descriptor goes once no sync uses it any more: its number could be another file's by then. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    if (this.#syncsInFlight === 0) fs.closeSync(this.#fd);
  }
}

/** The file system, through Node. */
export const nodeDisk: Disk = {
  open: (path, mode) => new NodeFile(path, mode),
  stat: (path): FileStat | null => {
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (!stat) return null;
    return { sizeBytes: stat.size, modifiedMs: stat.mtimeMs, isDirectory: stat.isDirectory() };
  },
  list: (directory): DirectoryEntry[] =>
    fs
      .readdirSync(directory, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, isDirectory: isDirectory(directory, entry) }))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)),
  readFile: (path) => fs.readFileSync(path),
  writeFile: (path, content) => {
    fs.writeFileSync(path, content);
  },
  makeDirectory: (path) => {
    fs.mkdirSync(path, { recursive: true });
  },
  rename: (from, to) => {
    fs.renameSync(from, to);
  },
  unlink: (path) => {
    try {
      fs.unlinkSync(path);
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
  },
  setModified: (path, modifiedMs) => {
    fs.utimesSync(path, modifiedMs / 1000, modifiedMs / 1000);
  },
  removeTree: (path) => fs.promises.rm(path, { recursive: true, force: true }),
  syncDirectory: async (path) => {
    const handle = await fs.promises.open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};
