import path from 'node:path';
import type { DirectoryEntry, Disk, DiskFile, FileStat, OpenMode } from './disk.ts';

interface FileNode {
  readonly kind: 'file';
  content: Buffer;
  /** What the medium holds for sure. */
  durable: Buffer;
  modifiedMs: number;
}

interface DirectoryNode {
  readonly kind: 'directory';
  entries: Map<string, Node>;
  /** What the medium holds for sure, and every state since, oldest first. */
  durable: Map<string, Node>;
  history: Map<string, Node>[];
}

type Node = FileNode | DirectoryNode;

export type OperationKind =
  | 'create'
  | 'write'
  | 'truncate'
  | 'rename'
  | 'unlink'
  | 'makeDirectory'
  | 'removeTree'
  | 'sync'
  | 'syncDirectory';

export interface Operation {
  /** From 1. */
  readonly number: number;
  readonly kind: OperationKind;
  readonly path: string;
  /** Of a write. */
  readonly bytes: number;
}

/** What becomes of an operation: it fails, a write perhaps after its first `writtenBytes`. */
export interface Fault {
  readonly error: Error;
  readonly writtenBytes?: number;
}

/** The process is gone: thrown by the operation it died in and by all later ones. */
export class KilledError extends Error {
  constructor() {
    super('the process was killed here');
    this.name = 'KilledError';
  }
}

function newDirectory(): DirectoryNode {
  return { kind: 'directory', entries: new Map(), durable: new Map(), history: [] };
}

function systemError(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}

/**
 * A disk in memory that counts its operations, fails or dies at any of them, and knows what a power
 * loss may leave: synced data for sure; of what was written since, any prefix, also with its length
 * but not its content; of a directory's changes, those up to any one of them.
 */
export class MemoryDisk implements Disk {
  #root = newDirectory();
  #count = 0;
  #isKilled = false;
  /** Asked before each operation. */
  onOperation: ((operation: Operation) => Fault | undefined) | null = null;
  /** Times of files. */
  nowMs = 0;

  get operationCount(): number {
    return this.#count;
  }

  /** Dies in operation `number`; of a write the first `writtenBytes` arrive. */
  killAt(number: number, writtenBytes = 0): void {
    this.onOperation = (operation) => {
      if (operation.number !== number) return undefined;
      this.#isKilled = true;
      return { error: new KilledError(), writtenBytes };
    };
  }

  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** The next process on the same machine: everything written is there. */
  afterKill(): MemoryDisk {
    const next = new MemoryDisk();
    next.nowMs = this.nowMs;
    next.#root = copyTree(
      this.#root,
      (directory) => directory.entries,
      (file) => file.content,
    );
    return next;
  }

  /** The machine after a power loss. `random` in [0, 1) chooses what of the unsynced survived. */
  afterPowerLoss(random: () => number): MemoryDisk {
    const next = new MemoryDisk();
    next.nowMs = this.nowMs;
    next.#root = copyTree(
      this.#root,
      (directory) => {
        const states = [directory.durable, ...directory.history];
        return states[Math.floor(random() * states.length)] as Map<string, Node>;
      },
      (file) => survivingContent(file, random),
    );
    return next;
  }

  /** The file's bytes, for tests to look at and to damage. */
  contentOf(file: string): Buffer {
    return this.#file(file).content;
  }

  open(file: string, mode: OpenMode): DiskFile {
    const parent = this.#directory(path.dirname(file));
    const name = path.basename(file);
    let node = parent.entries.get(name);
    if (!node && mode !== 'create') throw systemError('ENOENT', file);
    if (!node) {
      this.#operate('create', file);
      node = {
        kind: 'file',
        content: Buffer.alloc(0),
        durable: Buffer.alloc(0),
        modifiedMs: this.nowMs,
      };
      this.#change(parent, (entries) => entries.set(name, node as Node));
    }
    if (node.kind !== 'file') throw systemError('EISDIR', file);
    return this.#handle(file, node);
  }

  #handle(file: string, node: FileNode): DiskFile {
    return {
      path: file,
      sizeBytes: () => node.content.length,
      read: (target, start, length, position) => {
        this.#ensureAlive();
        if (position >= node.content.length) return 0;
        const end = Math.min(position + length, node.content.length);
        return node.content.copy(target, start, position, end);
      },
      write: (source, position) => {
        this.#operate('write', file, source.length, (written) => {
          writeInto(node, source.subarray(0, written), position);
        });
        writeInto(node, source, position);
        node.modifiedMs = this.nowMs;
      },
      truncate: (sizeBytes) => {
        this.#operate('truncate', file);
        const grown = Buffer.alloc(Math.max(0, sizeBytes - node.content.length));
        node.content = Buffer.concat([node.content.subarray(0, sizeBytes), grown]);
      },
      sync: async () => {
        this.#operate('sync', file);
        const content = Buffer.from(node.content);
        await Promise.resolve();
        this.#ensureAlive();
        node.durable = content;
      },
      close: () => undefined,
    };
  }

  stat(file: string): FileStat | null {
    const node = this.#find(file);
    if (!node) return null;
    return node.kind === 'file'
      ? { sizeBytes: node.content.length, modifiedMs: node.modifiedMs, isDirectory: false }
      : { sizeBytes: 0, modifiedMs: 0, isDirectory: true };
  }

  list(directory: string): DirectoryEntry[] {
    return [...this.#directory(directory).entries]
      .map(([name, node]) => ({ name, isDirectory: node.kind === 'directory' }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  readFile(file: string): Buffer {
    return Buffer.from(this.#file(file).content);
  }

  writeFile(file: string, content: Buffer): void {
    const handle = this.open(file, 'create');
    if (handle.sizeBytes() > 0) handle.truncate(0);
    if (content.length > 0) handle.write(content, 0);
  }

  makeDirectory(directory: string): void {
    if (this.#find(directory)) return;
    const parent = path.dirname(directory);
    if (parent !== directory) this.makeDirectory(parent);
    this.#operate('makeDirectory', directory);
    this.#change(this.#directory(parent), (entries) =>
      entries.set(path.basename(directory), newDirectory()),
    );
  }

  rename(from: string, to: string): void {
    const source = this.#directory(path.dirname(from));
    const node = source.entries.get(path.basename(from));
    if (!node) throw systemError('ENOENT', from);
    if (path.dirname(from) !== path.dirname(to)) throw systemError('EXDEV', from);
    this.#operate('rename', from);
    this.#change(source, (entries) => {
      entries.delete(path.basename(from));
      entries.set(path.basename(to), node);
    });
  }

  unlink(file: string): void {
    const parent = this.#directory(path.dirname(file));
    if (!parent.entries.has(path.basename(file))) return;
    this.#operate('unlink', file);
    this.#change(parent, (entries) => entries.delete(path.basename(file)));
  }

  setModified(file: string, modifiedMs: number): void {
    this.#file(file).modifiedMs = modifiedMs;
  }

  async removeTree(directory: string): Promise<void> {
    await Promise.resolve();
    const parent = this.#directory(path.dirname(directory));
    if (!parent.entries.has(path.basename(directory))) return;
    this.#operate('removeTree', directory);
    this.#change(parent, (entries) => entries.delete(path.basename(directory)));
  }

  async syncDirectory(directory: string): Promise<void> {
    const node = this.#directory(directory);
    this.#operate('syncDirectory', directory);
    const entries = new Map(node.entries);
    const statesBefore = node.history.length;
    await Promise.resolve();
    this.#ensureAlive();
    node.durable = entries;
    node.history.splice(0, statesBefore);
  }

  #change(directory: DirectoryNode, change: (entries: Map<string, Node>) => void): void {
    change(directory.entries);
    directory.history.push(new Map(directory.entries));
  }

  #ensureAlive(): void {
    if (this.#isKilled) throw new KilledError();
  }

  #operate(
    kind: OperationKind,
    file: string,
    bytes = 0,
    partial?: (writtenBytes: number) => void,
  ): void {
    this.#ensureAlive();
    this.#count++;
    const fault = this.onOperation?.({ number: this.#count, kind, path: file, bytes });
    if (!fault) return;
    if (partial) partial(Math.min(bytes, fault.writtenBytes ?? 0));
    throw fault.error;
  }

  #find(file: string): Node | undefined {
    this.#ensureAlive();
    let node: Node = this.#root;
    for (const part of file.split(path.sep)) {
      if (part === '') continue;
      if (node.kind !== 'directory') return undefined;
      const next = node.entries.get(part);
      if (!next) return undefined;
      node = next;
    }
    return node;
  }

  #directory(directory: string): DirectoryNode {
    const node = this.#find(directory);
    if (node?.kind !== 'directory') throw systemError('ENOENT', directory);
    return node;
  }

  #file(file: string): FileNode {
    const node = this.#find(file);
    if (node?.kind !== 'file') throw systemError('ENOENT', file);
    return node;
  }
}

function writeInto(node: FileNode, source: Buffer, position: number): void {
  const size = Math.max(node.content.length, position + source.length);
  const content = Buffer.alloc(size);
  node.content.copy(content);
  source.copy(content, position);
  node.content = content;
}

/** Synced content, the content now, or something a file system may leave in between. */
function survivingContent(file: FileNode, random: () => number): Buffer {
  const { content, durable } = file;
  if (content.equals(durable)) return content;
  const choice = random();
  if (choice < 0.3) return durable;
  if (choice < 0.5) return content;
  if (content.length <= durable.length) return choice < 0.75 ? durable : content;
  const kept = durable.length + Math.floor(random() * (content.length - durable.length + 1));
  const prefix = content.subarray(0, kept);
  if (choice < 0.85) return prefix;
  // The length made it, the last blocks did not.
  return Buffer.concat([prefix, Buffer.alloc(content.length - kept)]);
}

function copyTree(
  directory: DirectoryNode,
  entriesOf: (directory: DirectoryNode) => Map<string, Node>,
  contentOf: (file: FileNode) => Buffer,
): DirectoryNode {
  const entries = new Map<string, Node>();
  for (const [name, node] of entriesOf(directory)) {
    if (node.kind === 'directory') {
      entries.set(name, copyTree(node, entriesOf, contentOf));
      continue;
    }
    const content = Buffer.from(contentOf(node));
    entries.set(name, { kind: 'file', content, durable: content, modifiedMs: node.modifiedMs });
  }
  return { kind: 'directory', entries, durable: new Map(entries), history: [] };
}
