import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { BrokerStartError } from '../errors.ts';
import { ADMIN_CONNECTIONS, ADMIN_LINE_BYTES } from '../limits.ts';
import { LineReader, toJsonLine } from './json-lines.ts';
import { adminSocketAddress, type SocketAddress } from './unix-socket-path.ts';

export type AdminCommand = (args: Readonly<Record<string, unknown>>) => unknown;

interface AdminRequest {
  readonly id: unknown;
  readonly cmd: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * The command line's channel to a running broker: `<dataDir>/admin.sock`, for this user only (0600).
 * A line `{"id", "cmd", "args"}` is answered by a line `{"id", "ok": result}` or
 * `{"id", "error": {"code", "message"}}`; the lines of one connection are answered in order. Offsets
 * are strings.
 */
export class AdminSocket {
  readonly #commands: ReadonlyMap<string, AdminCommand>;
  readonly #logger: Logger;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #address: SocketAddress | null = null;

  constructor(commands: ReadonlyMap<string, AdminCommand>, logger: Logger) {
    this.#commands = commands;
    this.#logger = logger;
    this.#server = createServer((socket) => {
      this.#accept(socket);
    });
  }

  /**
   * To be called by the holder of the directory's lock: a socket file that lies there is then one that a
   * killed broker has left, and is replaced. Rejects with BrokerStartError `BROKER_ADMIN_SOCKET_FAILED`.
   */
  async listen(dataDir: string): Promise<void> {
    const socket = adminSocketAddress(dataDir);
    const { path, address } = socket;
    if (address === null) {
      this.#logger.info(
        { path },
        'no admin socket: its path is too long for this system; choose a shorter data directory',
      );
      return;
    }
    this.#address = socket;
    removeStale(path);
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error) => {
        reject(
          new BrokerStartError(
            'BROKER_ADMIN_SOCKET_FAILED',
            `The admin socket ${path} could not be opened: ${error.message}`,
            { cause: error },
          ),
        );
      });
      this.#server.listen(address, () => {
        chmodSync(address, 0o600);
        resolve();
      });
    });
    this.#server.on('error', (error) => {
      this.#logger.error({ err: error }, 'the admin socket failed');
    });
  }

  async close(): Promise<void> {
    if (this.#server.listening) {
      await new Promise<void>((resolve) => {
        this.#server.close(() => {
          resolve();
        });
        for (const socket of this.#sockets) socket.destroySoon();
      });
    }
    this.#address?.release();
    this.#address = null;
  }

  #accept(socket: Socket): void {
    if (this.#sockets.size >= ADMIN_CONNECTIONS) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    const lines = new LineReader(ADMIN_LINE_BYTES);
    let answered = Promise.resolve();
    socket.on('close', () => {
      this.#sockets.delete(socket);
    });
    socket.on('error', (error) => {
      this.#logger.debug({ err: error }, 'admin connection error');
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) {
          answered = answered.then(() => this.#answer(line, socket));
        }
      } catch (error) {
        socket.end(toJsonLine({ id: null, error: toError(error, 'ADMIN_LINE_TOO_LONG') }));
      }
    });
  }

  async #answer(line: string, socket: Socket): Promise<void> {
    let id: unknown = null;
    try {
      const request = parse(line);
      id = request.id;
      const command = this.#commands.get(request.cmd);
      if (command === undefined) {
        const known = [...this.#commands.keys()].join(', ');
        throw new AdminError(
          'ADMIN_UNKNOWN_COMMAND',
          `unknown command '${request.cmd}', known are: ${known}`,
        );
      }
      const ok = (await command(request.args)) ?? null;
      if (!socket.destroyed) socket.write(toJsonLine({ id, ok }));
    } catch (error) {
      const answer = toJsonLine({ id, error: toError(error, 'ADMIN_COMMAND_FAILED') });
      if (!socket.destroyed) socket.write(answer);
    }
  }
}

/** What a command refuses. */
export class AdminError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'AdminError';
    this.code = code;
  }
}

function parse(line: string): AdminRequest {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    throw new AdminError('ADMIN_BAD_REQUEST', `the line is no JSON: ${(error as Error).message}`);
  }
  const { id = null, cmd, args = {} } = (value ?? {}) as Record<string, unknown>;
  if (typeof cmd !== 'string' || typeof args !== 'object' || args === null) {
    throw new AdminError(
      'ADMIN_BAD_REQUEST',
      'expected {"id": ..., "cmd": "name", "args": {...}} in one line',
    );
  }
  return { id, cmd, args: args as Record<string, unknown> };
}

function toError(error: unknown, fallbackCode: string): { code: string; message: string } {
  const { code, message } = error as { code?: unknown; message: string };
  return { code: typeof code === 'string' ? code : fallbackCode, message };
}

function removeStale(path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isSocket()) {
    throw new BrokerStartError(
      'BROKER_ADMIN_SOCKET_FAILED',
      `${path} is in the way and is no socket; move it elsewhere.`,
    );
  }
  unlinkSync(path);
}
