export interface FileStat {
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly isDirectory: boolean;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly isDirectory: boolean;
}

/** An open file. Positions are absolute; nothing here keeps a cursor. */
export interface DiskFile {
  readonly path: string;
  sizeBytes(): number;
  /** Fills `target[start, start + length)` from `position`; fewer only at the end of the file. */
  read(target: Buffer, start: number, length: number, position: number): number;
  /** Writes all of it or throws; after a throw any prefix may be in the file. */
  write(source: Buffer, position: number): void;
  truncate(sizeBytes: number): void;
  /** Data and size reach the medium before the promise resolves. */
  sync(): Promise<void>;
  close(): void;
}

export type OpenMode = 'read' | 'readWrite' | 'create';

/**
 * The file operations of the log store. Appends and reads are synchronous (page cache); what waits
 * for the medium has a promise. Every operation throws Node's own errors (`code: 'ENOSPC'` ...);
 * callers turn them into `LogDirError`.
 */
export interface Disk {
  /** `create` makes the file if need be and keeps what is in it; the others need it to be there. */
  open(path: string, mode: OpenMode): DiskFile;
  /** null: no such file or directory. */
  stat(path: string): FileStat | null;
  /** Sorted by name. */
  list(directory: string): DirectoryEntry[];
  readFile(path: string): Buffer;
  /** Replaces the content; not synced. */
  writeFile(path: string, content: Buffer): void;
  makeDirectory(path: string): void;
  rename(from: string, to: string): void;
  /** A file that is not there is no error. */
  unlink(path: string): void;
  setModified(path: string, modifiedMs: number): void;
  /** A directory with all in it, or a file; in the background. What is not there is no error. */
  removeTree(path: string): Promise<void>;
  /** Makes creations, renames and deletions in a directory durable. */
  syncDirectory(path: string): Promise<void>;
}
