import path from 'node:path';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { DirectoryEntry, Disk, DiskFile, FileStat, OpenMode } from './disk.ts';

/** A file as the overlay has it: the first `baseBytes` of a file below, then bytes of its own. */
interface LaidFile {
  readonly kind: 'file';
  /** Where the first part lies below; null: all of it is its own. */
  readonly basePath: string | null;
  baseBytes: number;
  own: Buffer;
  ownBytes: number;
  modifiedMs: number;
}

/** `gone`: what lies below is not to be seen, nor anything in it. */
type Layer = LaidFile | { readonly kind: 'directory' } | { readonly kind: 'gone' };

/** A file that has become shorter than it is below, or is gone. */
export interface LostBytes {
  readonly path: string;
  /** From this position on, bytes; 0: all of it. */
  readonly position: number;
  readonly sizeBytes: number;
}

const MIN_OWN_BYTES = 4_096;

/**
 * Shows another disk and keeps every change to itself, in memory: what runs on it sees its own
 * writes, the disk below is only read. Meant for changes that are small beside the files, such as
 * opening a log directory makes; of a file that is cut or appended to, only what is new is kept.
 */
export class OverlayDisk implements Disk {
  readonly #below: Disk;
  readonly #clock: Clock;
  readonly #layers = new Map<string, Layer>();

  constructor(below: Disk, clock: Clock = systemClock) {
    this.#below = below;
    this.#clock = clock;
  }

  /** Of the files below whose path `isAsked` takes, those that lack bytes here. */
  lostBytes(isAsked: (path: string) => boolean): LostBytes[] {
    const lost: LostBytes[] = [];
    for (const [file, layer] of this.#layers) {
      if (layer.kind === 'directory' || !isAsked(file)) continue;
      const stat = this.#below.stat(file);
      if (stat === null || stat.isDirectory) continue;
      const kept = layer.kind === 'file' && layer.basePath === file ? layer.baseBytes : 0;
      const { sizeBytes } = stat;
      if (kept < sizeBytes) lost.push({ path: file, position: kept, sizeBytes: sizeBytes - kept });
    }
    return lost;
  }

  open(file: string, mode: OpenMode): DiskFile {
    const layer = this.#layers.get(file);
    if (layer?.kind === 'file') return this.#handle(file, layer);
    const stat = this.stat(file);
    if (stat === null) {
      if (mode !== 'create') throw systemError('ENOENT', 'open', file);
      return this.#handle(file, this.#lay(file, Buffer.alloc(0)));
    }
    if (stat.isDirectory) throw systemError('EISDIR', 'open', file);
    return this.#handle(file, fileBelow(file, stat));
  }

  /** `found`: the file as it is until somebody changes it. */
  #handle(file: string, found: LaidFile): DiskFile {
    let opened: DiskFile | null = null;
    const below = (): DiskFile => (opened ??= this.#below.open(found.basePath as string, 'read'));
    const current = (): LaidFile => {
      const layer = this.#layers.get(file);
      return layer?.kind === 'file' ? layer : found;
    };
    const change = (): LaidFile => {
      const laid = current();
      laid.modifiedMs = this.#clock.now();
      this.#layers.set(file, laid);
      return laid;
    };
    return {
      path: file,
      sizeBytes: () => current().baseBytes + current().ownBytes,
      read: (target, start, length, position) => {
        const laid = current();
        let done = 0;
        if (position < laid.baseBytes) {
          done = below().read(target, start, Math.min(length, laid.baseBytes - position), position);
        }
        const from = position + done - laid.baseBytes;
        if (done < length && from >= 0 && from < laid.ownBytes) {
          const end = Math.min(laid.ownBytes, from + length - done);
          done += laid.own.copy(target, start + done, from, end);
        }
        return done;
      },
      write: (source, position) => {
        const laid = change();
        if (position < laid.baseBytes) {
          const head = Buffer.alloc(laid.baseBytes - position);
          below().read(head, 0, head.length, position);
          laid.own = Buffer.concat([head, laid.own.subarray(0, laid.ownBytes)]);
          laid.ownBytes = laid.own.length;
          laid.baseBytes = position;
        }
        const from = position - laid.baseBytes;
        reserve(laid, from + source.length);
        source.copy(laid.own, from);
      },
      truncate: (sizeBytes) => {
        const laid = change();
        if (sizeBytes < laid.baseBytes) laid.baseBytes = sizeBytes;
        const ownBytes = sizeBytes - laid.baseBytes;
        laid.own.fill(0, Math.min(ownBytes, laid.ownBytes), laid.ownBytes);
        laid.ownBytes = Math.min(laid.ownBytes, ownBytes);
        reserve(laid, ownBytes);
      },
      sync: () => Promise.resolve(),
      close: () => {
        opened?.close();
        opened = null;
      },
    };
  }

  stat(file: string): FileStat | null {
    const layer = this.#layers.get(file);
    if (layer?.kind === 'file') {
      const { baseBytes, ownBytes, modifiedMs } = layer;
      return { sizeBytes: baseBytes + ownBytes, modifiedMs, isDirectory: false };
    }
    if (layer?.kind === 'directory') return { sizeBytes: 0, modifiedMs: 0, isDirectory: true };
    return this.#statBelow(file);
  }

  list(directory: string): DirectoryEntry[] {
    const stat = this.stat(directory);
    if (stat === null) throw systemError('ENOENT', 'list', directory);
    const found = new Map<string, DirectoryEntry>();
    if (this.#statBelow(directory)?.isDirectory === true) {
      for (const entry of this.#below.list(directory)) found.set(entry.name, entry);
    }
    for (const [file, { kind }] of this.#layers) {
      if (path.dirname(file) !== directory || file === directory) continue;
      const name = path.basename(file);
      if (kind === 'gone') found.delete(name);
      else found.set(name, { name, isDirectory: kind === 'directory' });
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  readFile(file: string): Buffer {
    const handle = this.open(file, 'read');
    try {
      const bytes = Buffer.alloc(handle.sizeBytes());
      return bytes.subarray(0, handle.read(bytes, 0, bytes.length, 0));
    } finally {
      handle.close();
    }
  }

  writeFile(file: string, content: Buffer): void {
    this.#lay(file, Buffer.from(content));
  }

  makeDirectory(directory: string): void {
    if (this.stat(directory)?.isDirectory === true) return;
    const parent = path.dirname(directory);
    if (parent !== directory) this.makeDirectory(parent);
    this.#layers.set(directory, { kind: 'directory' });
  }

  rename(from: string, to: string): void {
    const stat = this.stat(from);
    if (stat === null) throw systemError('ENOENT', 'rename', from);
    if (stat.isDirectory) {
      this.makeDirectory(to);
      for (const { name } of this.list(from))
        this.rename(path.join(from, name), path.join(to, name));
    } else {
      const layer = this.#layers.get(from);
      this.#layers.set(to, layer?.kind === 'file' ? layer : fileBelow(from, stat));
    }
    this.#remove(from);
  }

  unlink(file: string): void {
    if (this.stat(file) !== null) this.#remove(file);
  }

  setModified(file: string, modifiedMs: number): void {
    const stat = this.stat(file);
    if (stat === null || stat.isDirectory) throw systemError('ENOENT', 'utime', file);
    const layer = this.#layers.get(file);
    const laid = layer?.kind === 'file' ? layer : fileBelow(file, stat);
    laid.modifiedMs = modifiedMs;
    this.#layers.set(file, laid);
  }

  removeTree(file: string): Promise<void> {
    const inside = file + path.sep;
    for (const one of this.#layers.keys()) if (one.startsWith(inside)) this.#layers.delete(one);
    if (this.stat(file) !== null) this.#remove(file);
    return Promise.resolve();
  }

  syncDirectory(): Promise<void> {
    return Promise.resolve();
  }

  #lay(file: string, own: Buffer): LaidFile {
    const parent = this.stat(path.dirname(file));
    if (parent?.isDirectory !== true) throw systemError('ENOENT', 'open', file);
    const laid: LaidFile = {
      kind: 'file',
      basePath: null,
      baseBytes: 0,
      own,
      ownBytes: own.length,
      modifiedMs: this.#clock.now(),
    };
    this.#layers.set(file, laid);
    return laid;
  }

  #remove(file: string): void {
    if (this.#below.stat(file) === null) this.#layers.delete(file);
    else this.#layers.set(file, { kind: 'gone' });
  }

  /** null also where it, or a directory that it is in, is gone. */
  #statBelow(file: string): FileStat | null {
    for (let one = file; ; one = path.dirname(one)) {
      if (this.#layers.get(one)?.kind === 'gone') return null;
      if (path.dirname(one) === one) break;
    }
    return this.#below.stat(file);
  }
}

/** A disk some of whose files are only seen to change: what is written to them is kept in memory. */
export function shieldedDisk(below: Disk, isShielded: (path: string) => boolean): Disk {
  const overlay = new OverlayDisk(below);
  const on = (file: string): Disk => (isShielded(file) ? overlay : below);
  return {
    open: (file, mode) => on(file).open(file, mode),
    stat: (file) => on(file).stat(file),
    list: (directory) => below.list(directory),
    readFile: (file) => on(file).readFile(file),
    writeFile: (file, content) => {
      on(file).writeFile(file, content);
    },
    makeDirectory: (directory) => {
      below.makeDirectory(directory);
    },
    rename: (from, to) => {
      on(from).rename(from, to);
    },
    unlink: (file) => {
      on(file).unlink(file);
    },
    setModified: (file, modifiedMs) => {
      on(file).setModified(file, modifiedMs);
    },
    removeTree: (file) => below.removeTree(file),
    syncDirectory: (directory) => below.syncDirectory(directory),
  };
}

function fileBelow(basePath: string, { sizeBytes, modifiedMs }: FileStat): LaidFile {
  return {
    kind: 'file',
    basePath,
    baseBytes: sizeBytes,
    own: Buffer.alloc(0),
    ownBytes: 0,
    modifiedMs,
  };
}

/** The file's own bytes become so many at least; new ones are zeros. */
function reserve(laid: LaidFile, ownBytes: number): void {
  if (ownBytes > laid.own.length) {
    const grown = Buffer.alloc(Math.max(MIN_OWN_BYTES, ownBytes, laid.ownBytes * 2));
    laid.own.copy(grown, 0, 0, laid.ownBytes);
    laid.own = grown;
  }
  laid.ownBytes = Math.max(laid.ownBytes, ownBytes);
}

function systemError(code: string, operation: string, file: string): Error {
  return Object.assign(new Error(`${code}: ${operation} '${file}'`), { code });
}
