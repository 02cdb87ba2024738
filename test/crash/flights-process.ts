import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { StateDay } from '@millrace/examples';

/** What the program prints with --json; see `flights/output.ts`. */
export type FlightsEvent =
  | { readonly event: 'started' }
  | { readonly event: 'loading'; readonly rows: number }
  | { readonly event: 'loaded'; readonly written: number; readonly skipped: number }
  | { readonly event: 'processing'; readonly joined: number; readonly counted: number }
  | { readonly event: 'stopped'; readonly signal: string }
  | Finished;

export interface Finished {
  readonly event: 'finished';
  readonly results: readonly StateDay[];
  readonly flights: number;
  readonly joined: number;
  readonly records: number;
}

export interface FlightsRun {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly events: readonly FlightsEvent[];
  readonly standardError: string;
}

const program = fileURLToPath(
  new URL('../../packages/examples/dist/flights/main.js', import.meta.url),
);

/** Runs the built program to its end; `onEvent` may ask for a signal, once. */
export function runFlights(
  args: readonly string[],
  onEvent: (event: FlightsEvent) => 'SIGKILL' | 'SIGTERM' | 'SIGINT' | null = () => null,
): Promise<FlightsRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, '--json', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Each flight is one record in the changelog: what was counted twice can be told from its end.
      env: { ...process.env, MILLRACE_STATESTORE_CACHE_MAX_BYTES: '0' },
    });
    const events: FlightsEvent[] = [];
    let standardError = '';
    let isSignalled = false;
    child.stderr.setEncoding('utf8').on('data', (text: string) => (standardError += text));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const event = JSON.parse(line) as FlightsEvent;
      events.push(event);
      const signal = isSignalled ? null : onEvent(event);
      if (signal === null) return;
      isSignalled = true;
      child.kill(signal);
    });
    child.once('error', reject);
    child.once('close', (exitCode, signal) => {
      resolve({ exitCode, signal, events, standardError });
    });
  });
}

/** The one thing that a broker has to say after kill -9: the write it died in was taken back. */
const TORN_TAIL = 'the end of a segment was damaged and has been cut off';

/** The run must have ended as it should, and silently; the first one after a kill may report torn tails. */
export function finishedOf(run: FlightsRun, { afterKill = false } = {}): Finished {
  const last = run.events.at(-1);
  const said = run.standardError
    .split('\n')
    .filter((line) => line !== '' && !(afterKill && isTornTail(line)));
  if (run.exitCode !== 0 || said.length > 0 || last?.event !== 'finished') {
    throw new Error(
      `exit code ${run.exitCode ?? run.signal}, last event ${JSON.stringify(last)}, and on standard error:\n${run.standardError}`,
    );
  }
  return last;
}

function isTornTail(line: string): boolean {
  return line.startsWith('{') && (JSON.parse(line) as { msg?: unknown }).msg === TORN_TAIL;
}
