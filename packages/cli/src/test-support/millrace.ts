import { Readable } from 'node:stream';
import { run } from '../program.ts';

export interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, without input. */
export async function millrace(...args: string[]): Promise<Result> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(args, {
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    drained: () => Promise.resolve(),
    outputClosed: new AbortController().signal,
    input: Readable.from([]),
    isInputTyped: false,
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
}
