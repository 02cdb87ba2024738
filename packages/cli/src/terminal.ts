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

export interface ProcessTerminal extends Terminal {
  /** Why the output was not written, such as a full disk behind `>`; null: it was, or nobody wanted it. */
  readonly failure: Error | null;
}

/** The process's own. A pipe whose reader has gone ends commands quietly. */
export function processTerminal(): ProcessTerminal {
  const closed = new AbortController();
  const { stdout, stderr, stdin } = process;
  let wake = (): void => undefined;
  let failure: Error | null = null;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') failure ??= error;
    closed.abort();
    wake();
  });
  stdout.on('drain', () => {
    wake();
  });
  return {
    out: (text) => {
      if (!closed.signal.aborted) stdout.write(`${text}\n`);
    },
    err: (text) => stderr.write(`${text}\n`),
    drained: async () => {
      if (!stdout.writableNeedDrain || closed.signal.aborted) return;
      await new Promise<void>((resolve) => (wake = resolve));
    },
    outputClosed: closed.signal,
    input: stdin,
    isInputTyped: stdin.isTTY,
    get failure() {
      return failure;
    },
  };
}
