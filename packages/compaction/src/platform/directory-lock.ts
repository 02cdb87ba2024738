import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

/** Holds a directory for one owner. Freed by `release`, and by the end of the process however it ends. */
export interface DirectoryLock {
  release(): Promise<void>;
}

export interface DirectoryLocker {
  /** Throws an Error that names the holder when another one has the directory. */
  acquire(directory: string): Promise<DirectoryLock>;
}

/** Who holds a directory, for those who find it held, and for systems without abstract sockets. */
interface Holder {
  readonly pid: number;
  /** Epoch ms. */
  readonly startedMs: number;
  readonly bootId: string;
}

const LOCK_FILE = '.lock';
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';
const LOCKS_FILE = '/proc/locks';
const MAX_LOCK_FILE_BYTES = 4096;

/**
 * On Linux the lock is an abstract socket named by the directory's device and inode, so that two
 * paths to one directory meet; the kernel frees it with the process, also on kill -9. Elsewhere the
 * lock file's process id tells whether its holder still lives.
 */
export const systemDirectoryLocker: DirectoryLocker = {
  acquire: async (directory) => {
    const lockFile = path.join(directory, LOCK_FILE);
    refuseForeignLock(lockFile);
    const release =
      process.platform === 'linux'
        ? await holdSocket(directory, lockFile)
        : holdFile(directory, lockFile);
    try {
      fs.writeFileSync(lockFile, JSON.stringify(ourselves()));
    } catch (error) {
      await release();
      throw error;
    }
    return { release };
  },
};

/**
 * For those who only read: refuses a directory that somebody has, and writes nothing. On Linux
 * nobody else gets it meanwhile; elsewhere there is nothing to hold it by but the lock file.
 */
export const readingDirectoryLocker: DirectoryLocker = {
  acquire: async (directory) => {
    const lockFile = path.join(directory, LOCK_FILE);
    refuseForeignLock(lockFile);
    if (process.platform === 'linux') return { release: await holdSocket(directory, lockFile) };
    refuseHeldFile(directory, lockFile);
    return { release: () => Promise.resolve() };
  },
};

async function holdSocket(directory: string, lockFile: string): Promise<() => Promise<void>> {
  const { dev, ino } = fs.statSync(directory, { bigint: true });
  const server = net.createServer((socket) => {
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? heldBy(directory, readHolder(lockFile)) : error);
    });
    server.listen({ path: `\0millrace-log-dir-${String(dev)}-${String(ino)}` }, resolve);
  });
  server.unref();
  return () =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
    });
}

/** Directories that this process holds, where there is no socket to tell. */
const heldHere = new Set<string>();

/** Throws when a living process has the directory; else its key in `heldHere`. */
function refuseHeldFile(directory: string, lockFile: string): string {
  const { dev, ino } = fs.statSync(directory, { bigint: true });
  const key = `${String(dev)}-${String(ino)}`;
  const holder = readHolder(lockFile);
  const isOurs = holder?.pid === process.pid;
  const isHeld = isOurs ? heldHere.has(key) : holder !== null && isAlive(holder);
  if (isHeld) throw heldBy(directory, holder);
  return key;
}

function holdFile(directory: string, lockFile: string): () => Promise<void> {
  const key = refuseHeldFile(directory, lockFile);
  heldHere.add(key);
  return () => {
    heldHere.delete(key);
    fs.rmSync(lockFile, { force: true });
    return Promise.resolve();
  };
}

/** A Kafka broker locks `.lock` with a record lock, which Linux lists by device and inode. */
function refuseForeignLock(lockFile: string): void {
  const stat = fs.statSync(lockFile, { bigint: true, throwIfNoEntry: false });
  if (!stat || !fs.existsSync(LOCKS_FILE)) return;
  const major = (stat.dev >> 8n) & 0xfffn;
  const minor = (stat.dev & 0xffn) | ((stat.dev >> 12n) & 0xfff00n);
  const hex = (value: bigint): string => value.toString(16).padStart(2, '0');
  const id = `${hex(major)}:${hex(minor)}:${String(stat.ino)}`;
  for (const line of fs.readFileSync(LOCKS_FILE, 'utf8').split('\n')) {
    const fields = line.trim().split(/\s+/);
    if (fields[1] === 'POSIX' && fields[3] === 'WRITE' && fields[5] === id) {
      throw new Error(
        `${lockFile} is locked by process ${fields[4] ?? '?'}, a Kafka broker perhaps: stop it first`,
      );
    }
  }
}

/** Who only reads leaves its name nowhere: the file may name one that is long gone. */
function heldBy(directory: string, holder: Holder | null): Error {
  const who =
    holder !== null && isAlive(holder)
      ? `process ${String(holder.pid)}, started ${new Date(holder.startedMs).toISOString()}`
      : 'another process';
  return new Error(`${directory} is in use by ${who}: stop it, or choose another directory`);
}

function ourselves(): Holder {
  return {
    pid: process.pid,
    startedMs: Math.round(performance.timeOrigin),
    bootId: bootId(),
  };
}

function bootId(): string {
  return fs.existsSync(BOOT_ID_FILE) ? fs.readFileSync(BOOT_ID_FILE, 'utf8').trim() : '';
}

/** null: no file, or one that is not ours (Kafka's is empty). */
function readHolder(lockFile: string): Holder | null {
  const stat = fs.statSync(lockFile, { throwIfNoEntry: false });
  if (!stat || stat.size === 0 || stat.size > MAX_LOCK_FILE_BYTES) return null;
  try {
    const value: unknown = JSON.parse(fs.readFileSync(lockFile, 'utf8'));
    return isHolder(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function isHolder(value: unknown): value is Holder {
  return (
    typeof value === 'object' &&
    value !== null &&
    'pid' in value &&
    typeof value.pid === 'number' &&
    'startedMs' in value &&
    typeof value.startedMs === 'number' &&
    'bootId' in value &&
    typeof value.bootId === 'string'
  );
}

function isAlive(holder: Holder): boolean {
  if (holder.bootId !== bootId()) return false;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to someone else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
