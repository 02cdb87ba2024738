/** What an application may be doing when it is killed; `spill`: writing committed state to disk. */
export const killStates = ['processing', 'commit', 'spill', 'restore', 'stop'] as const;
export type KillState = (typeof killStates)[number];

interface LogLine {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
  readonly to?: string;
  readonly task?: string;
  readonly topic?: string;
  readonly partition?: number;
  readonly restoredRecords?: number;
}

const WARN = 40;

/** How long each state lasts, ms; learned from one run to the next. */
export type Durations = Record<KillState, number>;

/**
 * What an application is doing, from its own log at level debug, which it writes synchronously. Commits,
 * writing to disk and restoring happen while it processes or stops, and count for more than that.
 */
export class KillStates {
  /** Lines from warn on, and those that are none of the logger's. */
  readonly loud: string[] = [];
  hasRestored = false;
  readonly #durations: Durations;
  readonly #since = new Map<string, number>();
  readonly #spilling = new Set<string>();
  readonly #restoring = new Set<string>();
  #client = '';
  #isCommitting = false;

  constructor(durations: Durations) {
    this.#durations = durations;
  }

  /** null: nothing of all this, such as before it runs, or after it has stopped. */
  get state(): KillState | null {
    if (this.#spilling.size > 0) return 'spill';
    if (this.#isCommitting) return 'commit';
    if (this.#client === 'PENDING_SHUTDOWN') return 'stop';
    if (this.#restoring.size > 0) return 'restore';
    return this.#client === 'RUNNING' ? 'processing' : null;
  }

  /** A line of the log; returns the state that begins with it, if one does. */
  see(line: string): KillState | null {
    if (!line.startsWith('{')) {
      this.loud.push(line);
      return null;
    }
    // The last line may be torn by a kill.
    if (!line.endsWith('}')) return null;
    const entry = JSON.parse(line) as LogLine;
    if (entry.level >= WARN) this.loud.push(line);
    const { msg, to = '', task = '', topic = '', partition = 0, restoredRecords = 0, time } = entry;
    if (restoredRecords > 0) this.hasRestored = true;
    const changelog = `${topic}-${String(partition)}`;
    switch (msg) {
      case 'state':
        return this.#clientIs(to, time);
      case 'committing':
        this.#isCommitting = true;
        this.#begin('commit', '', time);
        return 'commit';
      case 'committed':
        this.#isCommitting = false;
        this.#end('commit', '', time);
        return null;
      case 'the commit failed and is tried again':
      case 'no commit while the group rebalances':
        this.#isCommitting = false;
        return null;
      case 'writing state to disk':
        this.#spilling.add(task);
        this.#begin('spill', task, time);
        return 'spill';
      case 'state is on disk':
        this.#spilling.delete(task);
        this.#end('spill', task, time);
        return null;
      case 'restoration: start':
        this.#restoring.add(changelog);
        if (this.#restoring.size > 1) return null;
        this.#begin('restore', '', time);
        return 'restore';
      case 'restoration: end':
      case 'restoration: suspended':
        this.#restoring.delete(changelog);
        if (this.#restoring.size === 0) this.#end('restore', '', time);
        return null;
      default:
        return null;
    }
  }

  #clientIs(state: string, time: number): KillState | null {
    this.#client = state;
    switch (state) {
      case 'RUNNING':
        this.#begin('processing', '', time);
        return 'processing';
      case 'PENDING_SHUTDOWN':
        this.#begin('stop', '', time);
        return 'stop';
      case 'NOT_RUNNING':
        this.#end('stop', '', time);
        return null;
      default:
        return null;
    }
  }

  #begin(state: KillState, which: string, time: number): void {
    this.#since.set(`${state} ${which}`, time);
  }

  #end(state: KillState, which: string, time: number): void {
    const since = this.#since.get(`${state} ${which}`);
    // The clock of the log has whole milliseconds.
    if (since !== undefined) this.#durations[state] = time - since + 1;
  }
}
