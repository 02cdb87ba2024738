import type { Readable } from 'node:stream';
import { CommandError } from './errors.ts';
import { INPUT_LINE_BYTES } from './limits.ts';

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * The lines of the input, without their ends; a last one need not have an end. All that have arrived
 * come together. Ends early when `signal` is aborted.
 */
export async function* inputLines(
  input: Readable,
  signal: AbortSignal,
): AsyncGenerator<string[], void, void> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  const onAbort = (): void => {
    input.destroy();
  };
  const isAborted = (): boolean => signal.aborted;
  if (isAborted()) return;
  signal.addEventListener('abort', onAbort);
  try {
    for await (const chunk of input as AsyncIterable<Buffer | string>) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      const lines: string[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        pending.push(bytes.subarray(start, end));
        lines.push(lineOf(pending));
        pending = [];
        pendingBytes = 0;
        start = end + 1;
      }
      if (start < bytes.length) {
        pending.push(bytes.subarray(start));
        pendingBytes += bytes.length - start;
      }
      if (pendingBytes > INPUT_LINE_BYTES) {
        throw new CommandError(
          'INPUT_INVALID',
          `A line of the input is longer than ${INPUT_LINE_BYTES} bytes, more than any record may have.`,
        );
      }
      if (lines.length > 0) yield lines;
    }
    if (pendingBytes > 0) yield [lineOf(pending)];
  } catch (error) {
    // It has ended for that reason.
    if (!isAborted()) throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function lineOf(parts: readonly Buffer[]): string {
  const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  const hasReturn = line.length > 0 && line[line.length - 1] === RETURN;
  return line.toString('utf8', 0, hasReturn ? line.length - 1 : line.length);
}
