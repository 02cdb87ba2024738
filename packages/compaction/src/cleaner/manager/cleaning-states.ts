import { CleaningStateError } from '../../errors.ts';

export type CleaningState = 'none' | 'inProgress' | 'aborted' | 'paused';
type CleaningEvent = 'grab' | 'pause' | 'leave' | 'resume';

/**
 * ```
 *          grab                 pause
 *   none ────────▶ inProgress ────────▶ aborted ⟲ pause
 *    ▲ │               │                   │
 *    │ │     leave     │                   │ leave
 *    ├─┼───────────────┘                   ▼
 *    │ └──────────── pause ───────────▶ paused ⟲ pause, resume
 *    └───────────── resume, the last ──────┘
 * ```
 *
 * `pause` counts: as many times `resume` is needed. What is not listed is refused.
 */
const transitions: Readonly<
  Record<CleaningState, Partial<Readonly<Record<CleaningEvent, CleaningState>>>>
> = {
  none: { grab: 'inProgress', pause: 'paused' },
  inProgress: { pause: 'aborted', leave: 'none' },
  aborted: { pause: 'aborted', leave: 'paused' },
  paused: { pause: 'paused', resume: 'paused' },
};

interface Entry {
  state: CleaningState;
  pauses: number;
  /** They wait for the pass to be left. */
  readonly waiting: (() => void)[];
}

/** Who may clean what: the state of each partition, `none` unless it is known. */
export class CleaningStates<Key extends { readonly name: string }> {
  readonly #entries = new Map<Key, Entry>();

  of(key: Key): CleaningState {
    return this.#entries.get(key)?.state ?? 'none';
  }

  /** A pass begins. */
  grab(key: Key): void {
    this.#move(key, 'grab');
  }

  /** No pass begins any more; resolves when none is under way, which it is the caller's to abort. */
  pause(key: Key): Promise<void> {
    const entry = this.#move(key, 'pause');
    entry.pauses++;
    if (entry.state === 'paused') return Promise.resolve();
    return new Promise((resolve) => {
      entry.waiting.push(resolve);
    });
  }

  /** A pass has ended, however it did. */
  leave(key: Key): void {
    const entry = this.#move(key, 'leave');
    for (const wake of entry.waiting.splice(0)) wake();
    this.#tidy(key, entry);
  }

  resume(key: Key): void {
    const entry = this.#move(key, 'resume');
    entry.pauses--;
    if (entry.pauses === 0) entry.state = 'none';
    this.#tidy(key, entry);
  }

  #move(key: Key, event: CleaningEvent): Entry {
    const entry = this.#entries.get(key) ?? { state: 'none', pauses: 0, waiting: [] };
    const next = transitions[entry.state][event];
    if (next === undefined) {
      throw new CleaningStateError(
        `${key.name}: ${event} while cleaning is in state ${entry.state}`,
      );
    }
    entry.state = next;
    this.#entries.set(key, entry);
    return entry;
  }

  #tidy(key: Key, { state }: Entry): void {
    if (state === 'none') this.#entries.delete(key);
  }
}
