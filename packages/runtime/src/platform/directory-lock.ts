import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

/** Holds a directory for one owner. Freed by `release`, and by the end of the process however it ends. */
export interface DirectoryLock {
  release(): Promise<void>;
}

/** Who holds a directory: for those who find it held, and for systems without abstract sockets. */
interface Holder {
  readonly pid: number;
  readonly startedMs: number;
  readonly bootId: string;
}

const LOCK_FILE = '.lock';
const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';

/** Changes with each start of the machine; empty where the system does not tell. */
export function bootId(): string {
  return existsSync(BOOT_ID_FILE) ? readFileSync(BOOT_ID_FILE, 'utf8').trim() : '';
}

/**
 * Node has no file locks. On Linux the lock is an abstract socket named by the directory's device and
 * inode, so that two paths to one directory meet; the kernel frees it with the process, also on kill -9.
 * Elsewhere the lock file's process id tells whether its holder still lives.
 *
 * @throws an Error that names the holder when another one has the directory
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const lockFile = join(directory, LOCK_FILE);
  const release =
    process.platform === 'linux'
      ? await holdSocket(directory, lockFile)
      : holdFile(directory, lockFile);
  writeFileSync(
    lockFile,
    `pid=${String(process.pid)}\nstartedMs=${String(Math.round(performance.timeOrigin))}\nbootId=${bootId()}\n`,
  );
  return { release };
}

/** Who holds a directory that is there, in words, without a try to hold it; null: nobody. */
export async function directoryHolder(directory: string): Promise<string | null> {
  const holder = readHolder(join(directory, LOCK_FILE));
  const isHeld =
    process.platform === 'linux'
      ? await isSocketHeld(directory)
      : holder !== null &&
        (holder.pid === process.pid ? heldHere.has(identity(directory)) : lives(holder));
  return isHeld ? holderInWords(holder) : null;
}

/** A local socket answers at once, or nobody listens. */
function isSocketHeld(directory: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path: socketPath(directory) });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}

async function holdSocket(directory: string, lockFile: string): Promise<() => Promise<void>> {
  const server = createServer((socket) => {
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' ? heldBy(directory, readHolder(lockFile)) : error);
    });
    server.listen({ path: socketPath(directory) }, resolve);
  });
  server.unref();
  return () =>
    new Promise((resolve) => {
      server.close(() => {
        resolve();
      });
    });
}

/** What this process holds, where there is no socket to tell. */
const heldHere = new Set<string>();

function holdFile(directory: string, lockFile: string): () => Promise<void> {
  const key = identity(directory);
  const holder = readHolder(lockFile);
  const isHeld = holder?.pid === process.pid ? heldHere.has(key) : holder !== null && lives(holder);
  if (isHeld) throw heldBy(directory, holder);
  heldHere.add(key);
  return () => {
    heldHere.delete(key);
    rmSync(lockFile, { force: true });
    return Promise.resolve();
  };
}

function socketPath(directory: string): string {
  return `\0millrace-state-${identity(directory)}`;
}

function identity(directory: string): string {
  const { dev, ino } = statSync(directory, { bigint: true });
  return `${String(dev)}-${String(ino)}`;
}

function heldBy(directory: string, holder: Holder | null): Error {
  return new Error(`${directory} is in use by ${holderInWords(holder)}`);
}

function holderInWords(holder: Holder | null): string {
  if (holder === null) return 'another process';
  return `process ${String(holder.pid)}, started ${new Date(holder.startedMs).toISOString()}`;
}

function readHolder(lockFile: string): Holder | null {
  if (!existsSync(lockFile)) return null;
  const fields = new Map<string, string>();
  for (const line of readFileSync(lockFile, 'utf8').split('\n')) {
    const [name = '', value = ''] = line.split('=', 2);
    fields.set(name, value);
  }
  const pid = Number(fields.get('pid'));
  const startedMs = Number(fields.get('startedMs'));
  if (!Number.isSafeInteger(pid) || pid <= 0 || !Number.isFinite(startedMs)) return null;
  return { pid, startedMs, bootId: fields.get('bootId') ?? '' };
}

function lives(holder: Holder): boolean {
  if (holder.bootId !== bootId()) return false;
  try {
    process.kill(holder.pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to someone else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
