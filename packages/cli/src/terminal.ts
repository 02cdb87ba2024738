import type { Readable } from 'node:stream';

/** What a command has of the world: results go to `out`, everything else to `err`. */
export interface Terminal {
  out(text: string): void;
  err(text: string): void;
  /** Resolves when so much of the output has been taken that more is worth making. */
  drained(): Promise<void>;
  /** Aborted when nobody reads the output any more, as after `| head`. */
  readonly outputClosed: AbortSignal;
  readonly input: Readable;
  /** Somebody types the input. */
  readonly isInputTyped: boolean;
}

/**
 * The process's own. A pipe whose reader has gone ends commands quietly; other errors of the output,
 * such as a full disk behind `>`, are thrown.
 */
export function processTerminal(): Terminal {
  const closed = new AbortController();
  const { stdout, stderr, stdin } = process;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    closed.abort();
  });
  return {
    out: (text) => {
      if (!closed.signal.aborted) stdout.write(`${text}\n`);
    },
    err: (text) => stderr.write(`${text}\n`),
    drained: async () => {
      if (!stdout.writableNeedDrain || closed.signal.aborted) return;
      await new Promise<void>((resolve) => {
        stdout.once('drain', resolve);
        closed.signal.addEventListener('abort', () => {
          resolve();
        });
      });
    },
    outputClosed: closed.signal,
    input: stdin,
    isInputTyped: stdin.isTTY,
  };
}
