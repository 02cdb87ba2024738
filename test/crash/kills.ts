import { SeededRandom } from '../golden/fuzz/random.ts';
import type { Finished } from './flights-process.ts';
import { FlightsRound, type Guarantee } from './flights-round.ts';
import { killStates, type Durations, type KillState } from './kill-states.ts';
import { runAndKill, type KilledRun, type Moment } from './killer.ts';

export interface KillsOptions {
  readonly seed: number;
  /** At least so many kills in all. */
  readonly kills: number;
  /** Flights of a round. */
  readonly rows: number;
  /** Exactly once, no record comes again, and the result is exact. */
  readonly guarantee: Guarantee;
  readonly say: (line: string) => void;
}

export interface KillsReport {
  /** Kills by what the job was doing. */
  readonly counts: Readonly<Record<KillState, number>>;
  /** Kills between two of these, such as before it ran. */
  readonly otherCount: number;
  /** Rounds that ran to their end, that without kills included. */
  readonly roundCount: number;
  /** Records that were processed twice, in all rounds. */
  readonly surplus: number;
  readonly faults: readonly string[];
}

/** Of each state, so many of all kills at least. */
const MINIMUM_SHARE = 10;
/** With so many times the kills that were asked for, each state must have had its own. */
const ATTEMPTS_PER_KILL = 3;
/** How finely moments are drawn. */
const STEPS = 1_000;
/** The last moment of a state, 0 to 1: a signal takes its time to arrive. */
const LAST_MOMENT = 0.8;
/** A commit, or a writing to disk, is one of the first so many of a run. */
const ORDINALS = 3;
const TO_ITS_END: Moment = { killIn: null, ordinal: 1, fraction: 0, stopFraction: null };
/** Of what processing is taken to last at first. */
const STOP_FRACTION = 0.3;
/** The part of a round's flights that must be left for one more kill in it. */
const LEAST_LEFT = 0.1;
const RESTORED_AFTER_STOP = 'there was something to restore after a clean stop';
const LOG_SHOWN_CHARS = 4_000;
const EXIT_CODES = { finished: 0, stopped: 143 } as const;

/**
 * Kills the flights job at moments drawn from the seed, state by state, and starts it again, until all is
 * processed; then on with new flights. A seed draws the same moments each time, as parts of what a state
 * lasts; to the microsecond no kill can be had twice.
 */
export async function killFlights(options: KillsOptions): Promise<KillsReport> {
  return new Kills(options).run();
}

class Kills {
  readonly #options: KillsOptions;
  readonly #random: SeededRandom;
  readonly #counts: Record<KillState, number> = {
    processing: 0,
    commit: 0,
    spill: 0,
    restore: 0,
    stop: 0,
  };
  /** To begin with; learned as it goes on. */
  readonly #durations: Durations = {
    processing: 1_000,
    commit: 10,
    spill: 4,
    restore: 100,
    stop: 50,
  };
  readonly #faults: string[] = [];
  #otherCount = 0;
  #attemptCount = 0;
  #roundCount = 0;
  #surplus = 0;

  constructor(options: KillsOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
  }

  async run(): Promise<KillsReport> {
    await this.#inRound((round) => this.#withoutKills(round));
    while (this.#faults.length === 0 && this.#isKillLeft()) {
      await this.#inRound((round) => this.#withKills(round));
    }
    for (const state of killStates) {
      const least = this.#minimum();
      if (this.#faults.length > 0 || this.#counts[state] >= least) continue;
      this.#faults.push(`only ${this.#counts[state]} kills of ${least} hit ${state}`);
    }
    return {
      counts: this.#counts,
      otherCount: this.#otherCount,
      roundCount: this.#roundCount,
      surplus: this.#surplus,
      faults: this.#faults,
    };
  }

  /** A clean stop half-way: nothing is restored after it, and the result is exact. */
  async #withoutKills(round: FlightsRound): Promise<void> {
    const halfWay = { ...TO_ITS_END, stopFraction: STOP_FRACTION };
    const stopped = await runAndKill(round, halfWay, this.#durations, 1);
    this.#faults.push(...stopped.loud);
    this.#expectEnd(stopped, 'stopped');
    const finished = await runAndKill(round, TO_ITS_END, this.#durations, 1);
    this.#durations.processing = stopped.processingMs + finished.processingMs;
    if (finished.hasRestored) this.#faults.push(RESTORED_AFTER_STOP);
    await this.#finish(round, finished, 0);
    const took = Math.round(this.#durations.processing);
    this.#options.say(`without kills: processing takes ${String(took)} ms`);
  }

  async #withKills(round: FlightsRound): Promise<void> {
    let { surplus, left } = { surplus: 0, left: 1 };
    let last: KilledRun | null = null;
    while (this.#faults.length === 0) {
      // What was done since the last writing to disk is to be restored after a kill. Of a round that is nearly
      // over, each kill would come before anything was done again.
      const isWorthwhile = this.#isKillLeft() && left >= LEAST_LEFT;
      const moment: Moment = isWorthwhile ? this.#draw(last?.isKilled === true) : TO_ITS_END;
      const run = await runAndKill(round, moment, this.#durations, left);
      if (last?.isKilled === false && run.hasRestored) this.#faults.push(RESTORED_AFTER_STOP);
      last = run;
      if (!run.isKilled && run.exitCode === EXIT_CODES.finished) {
        await this.#finish(round, run, surplus);
        return;
      }
      this.#faults.push(...run.loud);
      if (!run.isKilled) this.#expectEnd(run, 'stopped');
      const now = await round.progress();
      this.#note(run, moment, now.surplus - surplus);
      if (now.surplus < surplus || (!run.isKilled && now.surplus > surplus)) {
        this.#faults.push(`the surplus was ${surplus}, and is ${now.surplus}`);
      }
      ({ surplus, left } = now);
    }
  }

  async #finish(round: FlightsRound, run: KilledRun, surplus: number): Promise<void> {
    this.#faults.push(...run.loud);
    this.#expectEnd(run, 'finished');
    const now = await round.progress();
    if (now.surplus !== surplus) {
      this.#faults.push(`the surplus was ${surplus}, and is ${now.surplus} without a kill`);
    }
    const last = run.events.at(-1) as Finished;
    this.#faults.push(...(await round.faults(last, surplus)));
    this.#roundCount++;
    this.#surplus += surplus;
  }

  async #inRound(play: (round: FlightsRound) => Promise<void>): Promise<void> {
    const { rows, guarantee } = this.#options;
    const round = await FlightsRound.open(rows, guarantee);
    try {
      await play(round);
    } finally {
      await round.close();
    }
  }

  #expectEnd(run: KilledRun, event: 'finished' | 'stopped'): void {
    const last = run.events.at(-1);
    if (run.exitCode === EXIT_CODES[event] && last?.event === event) return;
    throw new Error(
      `seed ${String(this.#options.seed)}: the job should have ${event}, but ended with ` +
        `${String(run.exitCode ?? run.signal)} after ${JSON.stringify(last)}:\n${run.standardError.slice(-LOG_SHOWN_CHARS)}`,
    );
  }

  #note(
    { isKilled, state }: KilledRun,
    { killIn, ordinal, fraction }: Moment,
    added: number,
  ): void {
    const aim = `aim: ${String(killIn)} ${ordinal}, at ${fraction.toFixed(2)}`;
    if (!isKilled) {
      this.#options.say(`missed, and stopped (${aim})`);
      return;
    }
    if (state === null) this.#otherCount++;
    else this.#counts[state]++;
    const what = `kill ${this.#killCount()} in ${state ?? 'another state'}`;
    this.#options.say(`${what}: ${added} records come again (${aim})`);
  }

  #killCount(): number {
    return killStates.reduce((sum, state) => sum + this.#counts[state], this.#otherCount);
  }

  #minimum(): number {
    return Math.max(1, Math.floor(this.#options.kills / MINIMUM_SHARE));
  }

  #isKillLeft(): boolean {
    if (this.#attemptCount >= ATTEMPTS_PER_KILL * this.#options.kills) return false;
    if (this.#killCount() < this.#options.kills) return true;
    return killStates.some((state) => this.#counts[state] < this.#minimum());
  }

  /**
   * States that have not had their least come first, then those that have not had their share. Each moment
   * takes as many random numbers as any other.
   */
  #draw(canRestore: boolean): Moment {
    this.#attemptCount++;
    const states = killStates.filter((state) => canRestore || state !== 'restore');
    const below = (count: number): KillState[] =>
      states.filter((state) => this.#counts[state] < count);
    const share = Math.ceil(this.#options.kills / killStates.length);
    const open = [below(this.#minimum()), below(share), states].find(({ length }) => length > 0);
    const state = this.#random.pick(open ?? states);
    const ordinal = 1 + this.#random.int(ORDINALS);
    const fraction = (this.#random.int(STEPS) / STEPS) * LAST_MOMENT;
    const stopFraction = this.#random.int(STEPS) / STEPS;
    return {
      killIn: state,
      ordinal: state === 'commit' || state === 'spill' ? ordinal : 1,
      fraction,
      stopFraction: state === 'spill' || state === 'stop' ? stopFraction : null,
    };
  }
}
