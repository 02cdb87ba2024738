import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { UNIX_SOCKET_PATH_BYTES } from '../limits.ts';

const SOCKET_NAME = 'admin.sock';

export interface SocketAddress {
  /** Where the socket file lies. */
  readonly path: string;
  /** What to bind or connect to; the same, or a short way to it. Null: there is none here. */
  readonly address: string | null;
  readonly release: () => void;
}

/**
 * The admin socket of a data directory. A path that is too long for the kernel is reached through an
 * open descriptor of its directory, where the system has /proc (Linux).
 */
export function adminSocketAddress(dataDir: string): SocketAddress {
  const path = join(dataDir, SOCKET_NAME);
  if (Buffer.byteLength(path) <= UNIX_SOCKET_PATH_BYTES) {
    return { path, address: path, release: () => undefined };
  }
  if (process.platform !== 'linux') return { path, address: null, release: () => undefined };
  const descriptor = openSync(dataDir, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    path,
    address: `/proc/self/fd/${descriptor}/${SOCKET_NAME}`,
    release: () => {
      closeSync(descriptor);
    },
  };
}
