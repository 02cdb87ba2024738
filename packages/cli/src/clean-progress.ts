import { systemClock, type CleaningControl, type Clock, type Log } from '@millrace/compaction';
import { PROGRESS_INTERVAL_MS } from './limits.ts';
import type { Terminal } from './terminal.ts';

const MIB = 1_048_576;

/** A line on stderr now and then, of passes that take long enough to be wondered about. */
export class CleanProgress {
  readonly #terminal: Pick<Terminal, 'err'>;
  readonly #clock: Clock;
  #nextMs: number;

  constructor(terminal: Pick<Terminal, 'err'>, clock: Clock = systemClock) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#nextMs = clock.monotonicMs() + PROGRESS_INTERVAL_MS;
  }

  of(log: Pick<Log, 'name' | 'sizeInBytes'>): CleaningControl {
    let bytes = 0;
    return {
      ensureWanted: () => undefined,
      throttle: (more) => {
        bytes += more;
        const nowMs = this.#clock.monotonicMs();
        if (nowMs < this.#nextMs) return;
        this.#nextMs = nowMs + PROGRESS_INTERVAL_MS;
        const size = Math.round(log.sizeInBytes / MIB);
        const done = Math.round(bytes / MIB);
        this.#terminal.err(`${log.name}: of ${size} MiB, ${done} MiB read and written so far`);
      },
    };
  }
}
