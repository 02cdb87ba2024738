import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
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

export type FlightsSignal = 'SIGKILL' | 'SIGTERM' | 'SIGINT';

export interface FlightsListener {
  readonly onEvent?: (event: FlightsEvent) => void;
  /** Lines of standard error, in the order in which they were written. */
  readonly onLine?: (line: string) => void;
}

/** Found from source and from dist alike. */
const examples = createRequire(import.meta.url).resolve('@millrace/examples');
const program = join(dirname(examples), '..', 'dist', 'flights', 'main.js');

/** The built program while it runs. */
export class FlightsProcess {
  readonly pid: number;
  /** Resolves when it has ended and all that it wrote is read. */
  readonly ended: Promise<FlightsRun>;
  readonly #signal: (signal: FlightsSignal) => void;

  /** Variables of the environment are laid over this process's own. */
  constructor(
    args: readonly string[],
    { onEvent, onLine }: FlightsListener = {},
    environment: Readonly<Record<string, string>> = {},
  ) {
    const child = spawn(process.execPath, [program, '--json', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Each flight is one record in the changelog: what was counted twice can be told from its end.
      env: { ...process.env, MILLRACE_STATESTORE_CACHE_MAX_BYTES: '0', ...environment },
    });
    this.pid = child.pid ?? -1;
    this.#signal = (signal) => child.kill(signal);
    const events: FlightsEvent[] = [];
    let standardError = '';
    createInterface({ input: child.stderr }).on('line', (line) => {
      standardError += `${line}\n`;
      onLine?.(line);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      // The last line may be torn by a kill.
      if (!line.endsWith('}')) return;
      const event = JSON.parse(line) as FlightsEvent;
      events.push(event);
      onEvent?.(event);
    });
    this.ended = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exitCode, signal) => {
        resolve({ exitCode, signal, events, standardError });
      });
    });
  }

  signal(signal: FlightsSignal): void {
    this.#signal(signal);
  }
}

/** Runs the program to its end; `onEvent` may ask for a signal, once. */
export function runFlights(
  args: readonly string[],
  onEvent: (event: FlightsEvent) => FlightsSignal | null = () => null,
): Promise<FlightsRun> {
  let isSignalled = false;
  const flights: FlightsProcess = new FlightsProcess(args, {
    onEvent: (event) => {
      const signal = isSignalled ? null : onEvent(event);
      if (signal === null) return;
      isSignalled = true;
      flights.signal(signal);
    },
  });
  return flights.ended;
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
