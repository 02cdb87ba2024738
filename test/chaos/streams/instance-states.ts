/** What an instance may be doing when it is killed, the rarest first. */
export const instanceStates = [
  'purging',
  'committing',
  'restoring',
  'rebalancing',
  'processing',
] as const;
export type InstanceState = (typeof instanceStates)[number];

interface LogLine {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
  readonly thread?: string;
  readonly to?: string;
  readonly topic?: string;
  readonly partition?: number;
}

const ERROR = 50;

/** How long each state lasts, ms; learned as the run goes on. */
export type Durations = Record<InstanceState, number>;

/** Lines that say that somebody else has the tasks by now, or that an earlier life or a zombie was fenced. */
const FENCED =
  /^(this member lost its tasks|the tasks of this thread belong to others|the producer was fenced)/;
const COMMIT_OVER =
  /^(committed|no commit|the commit failed|the task is closed|the tasks of this thread belong|this member lost)/;

/** What an instance is doing, from its own log at level debug. */
export class InstanceStates {
  /** Lines from error on, and those that are none of the logger's. */
  readonly loud: string[] = [];
  readonly #durations: Durations;
  readonly #since = new Map<string, number>();
  readonly #threads = new Map<string, string>();
  readonly #purging = new Set<string>();
  readonly #committing = new Set<string>();
  readonly #restoring = new Set<string>();
  #client = 'CREATED';
  /** Of the last line, as its logger has it. */
  #timeMs = 0;
  #fencedCount = 0;

  constructor(durations: Durations) {
    this.#durations = durations;
  }

  /** How often it has said that it was fenced. */
  get fencedCount(): number {
    return this.#fencedCount;
  }

  get isRunning(): boolean {
    return this.#client === 'RUNNING';
  }

  /** The first of all that it does; null: nothing of that, such as before it joins or while it stops. */
  get state(): InstanceState | null {
    return this.all[0] ?? null;
  }

  /** All that it does, for its threads, and what they have asked for, go on beside each other. */
  get all(): readonly InstanceState[] {
    if (this.#client === 'PENDING_SHUTDOWN') return [];
    const is: Record<Exclude<InstanceState, 'processing'>, boolean> = {
      purging: this.#purging.size > 0,
      committing: this.#committing.size > 0,
      restoring: this.#restoring.size > 0,
      rebalancing: [...this.#threads.values()].some((state) => REBALANCING.has(state)),
    };
    const all = (Object.keys(is) as (keyof typeof is)[]).filter((state) => is[state]);
    return all.length === 0 && this.#client === 'RUNNING' ? ['processing'] : all;
  }

  /** A line of the log; returns the state that begins with it, if one does. */
  see(line: string): InstanceState | null {
    const before = this.state;
    const begun = this.#read(line);
    const after = this.state;
    if (before === after || this.#timeMs === 0) return begun;
    // It goes on with that when everything else is over.
    if (before === 'processing') this.#learn('processing', 'processing', this.#timeMs);
    if (after !== 'processing') return begun;
    this.#since.set('processing', this.#timeMs);
    return 'processing';
  }

  #read(line: string): InstanceState | null {
    if (!line.startsWith('{')) {
      this.loud.push(line);
      return null;
    }
    // The last line may be torn by a kill.
    if (!line.endsWith('}')) return null;
    const entry = JSON.parse(line) as LogLine;
    if (entry.level >= ERROR) this.loud.push(line);
    const { msg = '', thread = '', to = '', topic = '', partition = 0, time } = entry;
    this.#timeMs = time;
    if (FENCED.test(msg)) this.#fencedCount++;
    if (COMMIT_OVER.test(msg)) this.#end('committing', this.#committing, thread, time);
    const changelog = `${topic}-${String(partition)}`;
    switch (msg) {
      case 'state':
        this.#client = to;
        return null;
      case 'thread state':
        return this.#threadIs(thread, to, time);
      case 'committing':
        return this.#begin('committing', this.#committing, thread, time);
      case 'purging repartition topics':
        return this.#begin('purging', this.#purging, thread, time);
      case 'purge answered':
        return this.#end('purging', this.#purging, thread, time);
      case 'restoration: start':
        return this.#begin('restoring', this.#restoring, changelog, time);
      case 'restoration: end':
      case 'restoration: suspended':
        return this.#end('restoring', this.#restoring, changelog, time);
      default:
        return null;
    }
  }

  #threadIs(thread: string, state: string, time: number): InstanceState | null {
    const was = REBALANCING.has(this.#threads.get(thread) ?? '');
    this.#threads.set(thread, state);
    const key = `rebalancing ${thread}`;
    if (REBALANCING.has(state)) {
      if (was) return null;
      this.#since.set(key, time);
      return 'rebalancing';
    }
    if (was) this.#learn('rebalancing', key, time);
    return null;
  }

  #begin(
    state: InstanceState,
    all: Set<string>,
    which: string,
    time: number,
  ): InstanceState | null {
    all.add(which);
    this.#since.set(`${state} ${which}`, time);
    return all.size === 1 ? state : null;
  }

  #end(state: InstanceState, all: Set<string>, which: string, time: number): null {
    if (all.delete(which)) this.#learn(state, `${state} ${which}`, time);
    return null;
  }

  #learn(state: InstanceState, key: string, time: number): void {
    const since = this.#since.get(key);
    // The clock of the log has whole milliseconds.
    if (since !== undefined) this.#durations[state] = time - since + 1;
  }
}

/** A thread's states while the group rebalances; STARTING: it joins for the first time. */
const REBALANCING: ReadonlySet<string> = new Set(['STARTING', 'PARTITIONS_REVOKED']);
