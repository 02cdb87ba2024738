import { setTimeout as sleep } from 'node:timers/promises';
import type { FlightsProcess, FlightsRun } from './flights-process.ts';
import type { FlightsRound } from './flights-round.ts';
import { KillStates, type Durations, type KillState } from './kill-states.ts';

/** What is to happen to a run: drawn in advance, in parts of what a state lasts. */
export interface Moment {
  /** It is killed in this state; null: not at all. */
  readonly killIn: KillState | null;
  /** The state is to begin so many times. */
  readonly ordinal: number;
  /** How much of the state is over, 0 to 1. */
  readonly fraction: number;
  /** It is asked to stop when it has processed for so long, in parts of what is left; null: it is not. */
  readonly stopFraction: number | null;
}

export interface KilledRun extends FlightsRun {
  readonly isKilled: boolean;
  /** What it was doing when it was killed; null: nothing in particular, or it was not killed. */
  readonly state: KillState | null;
  /** It has restored records; what lies behind the last one, such as a transaction's marker, is none. */
  readonly hasRestored: boolean;
  /** From running to stopping; 0 if it did not get there. */
  readonly processingMs: number;
  /** What it said that it should not have. */
  readonly loud: readonly string[];
}

const RUN_DEADLINE_MS = 120_000;
const LOG_SHOWN_CHARS = 4_000;
/** Timers are not to be relied on below this, so the last part is waited for actively, ms. */
const SPIN_MS = 4;

/**
 * Runs the job once, and kills it from outside. What it is doing is told by its log, also what it was
 * doing at the end. `left` is the part of all flights that is not processed yet.
 */
export async function runAndKill(
  round: FlightsRound,
  moment: Moment,
  durations: Durations,
  left: number,
): Promise<KilledRun> {
  const states = new KillStates(durations);
  const { killIn, fraction, stopFraction } = moment;
  const leftMs = durations.processing * left;
  let times = moment.ordinal;
  let hasEnded = false;
  let runningMs = 0;
  let processingMs = 0;
  const kill = (): void => {
    if (!hasEnded) flights.signal('SIGKILL');
  };
  let isDue = false;
  const due = (): void => {
    // Stopping consists of commits and writing to disk for the most part: it waits for what is neither.
    isDue = killIn === 'stop' && (states.state === 'commit' || states.state === 'spill');
    if (!isDue) kill();
  };
  const stop = (): void => {
    // A second one would end it at once.
    if (!hasEnded && processingMs === 0) flights.signal('SIGTERM');
  };
  const begun = (state: KillState): void => {
    if (state === 'stop') processingMs = performance.now() - runningMs;
    if (state === 'processing') {
      runningMs = performance.now();
      if (stopFraction !== null) void after(stopFraction * leftMs, stop);
      // Nothing was left to be restored: it is killed all the same, and counted as what it is.
      if (killIn === 'restore' && times > 0) void after(fraction * leftMs, kill);
    }
    if (killIn !== state || --times !== 0) return;
    void after(fraction * (state === 'processing' ? leftMs : durations[state]), due);
  };
  const flights: FlightsProcess = round.start({
    onLine: (line) => {
      const state = states.see(line);
      if (state !== null) begun(state);
      if (isDue && states.state === 'stop') kill();
    },
  });
  const startedMs = performance.now();
  const deadline = setTimeout(kill, RUN_DEADLINE_MS);
  const run = await flights.ended;
  clearTimeout(deadline);
  hasEnded = true;
  if (performance.now() - startedMs >= RUN_DEADLINE_MS) {
    const log = run.standardError.slice(-LOG_SHOWN_CHARS);
    throw new Error(`the job did not end within ${RUN_DEADLINE_MS} ms:\n${log}`);
  }
  return {
    ...run,
    isKilled: run.signal === 'SIGKILL',
    state: run.signal === 'SIGKILL' ? states.state : null,
    hasRestored: states.hasRestored,
    processingMs,
    loud: states.loud,
  };
}

async function after(delayMs: number, action: () => void): Promise<void> {
  const until = performance.now() + delayMs;
  if (delayMs > SPIN_MS) await sleep(delayMs - SPIN_MS);
  while (performance.now() < until);
  action();
}
