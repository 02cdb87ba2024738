import { connect } from 'node:net';
import { BrokerError, toError } from '../errors.ts';
import { ADMIN_ANSWER_BYTES, ADMIN_ANSWER_MS } from '../limits.ts';
import { LineReader, toJsonLine } from './json-lines.ts';
import { adminSocketAddress } from './unix-socket-path.ts';

/** The other end of the admin socket said no, or nothing. */
export class AdminRequestError extends BrokerError {}

/**
 * Sends one command to the broker that runs on the data directory and resolves with its answer.
 * Rejects with AdminRequestError: `ADMIN_NOT_RUNNING` if none does, `ADMIN_NO_ANSWER`, or the
 * broker's own code.
 */
export async function adminRequest(
  dataDir: string,
  cmd: string,
  args: Readonly<Record<string, unknown>> = {},
  timeoutMs: number = ADMIN_ANSWER_MS,
): Promise<unknown> {
  const { path, address, release } = openAddress(dataDir);
  if (address === null) {
    throw new AdminRequestError(
      'ADMIN_NOT_RUNNING',
      `The path ${path} is too long for a socket on this system.`,
    );
  }
  const socket = connect(address);
  try {
    return await new Promise<unknown>((resolve, reject) => {
      const lines = new LineReader(ADMIN_ANSWER_BYTES);
      socket.setTimeout(timeoutMs, () => {
        reject(
          new AdminRequestError('ADMIN_NO_ANSWER', `No answer on ${path} in ${timeoutMs} ms.`),
        );
      });
      socket.on('error', (error) => {
        reject(notRunning(dataDir, path, error));
      });
      socket.on('close', () => {
        reject(new AdminRequestError('ADMIN_NO_ANSWER', `The broker on ${path} hung up.`));
      });
      socket.on('data', (chunk: Buffer) => {
        try {
          const line = lines.push(chunk)[0];
          if (line !== undefined) resolve(parseAnswer(line));
        } catch (error) {
          reject(toError(error));
        }
      });
      socket.write(toJsonLine({ id: 1, cmd, args }));
    });
  } finally {
    socket.destroy();
    release();
  }
}

function openAddress(dataDir: string): ReturnType<typeof adminSocketAddress> {
  try {
    return adminSocketAddress(dataDir);
  } catch (error) {
    throw notRunning(dataDir, dataDir, error as Error);
  }
}

function notRunning(dataDir: string, path: string, cause: Error): AdminRequestError {
  return new AdminRequestError(
    'ADMIN_NOT_RUNNING',
    `No broker runs on ${dataDir} (${path}: ${cause.message}).`,
    { cause },
  );
}

function parseAnswer(line: string): unknown {
  const answer = JSON.parse(line) as { ok?: unknown; error?: { code: string; message: string } };
  if (answer.error === undefined) return answer.ok;
  throw new AdminRequestError(answer.error.code, answer.error.message);
}
