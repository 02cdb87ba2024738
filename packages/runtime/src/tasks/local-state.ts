import type { TaskCorruptedError } from '../errors.ts';
import { TASK_STATE_WAIT_MAX_MS } from '../limits.ts';
import type { Clock } from '../platform/clock.ts';
import { within } from '../platform/within.ts';
import type { StateDirectory } from '../state/directory/state-directory.ts';
import { wipeStores } from '../state/persistent/wipe-stores.ts';
import type { TaskName } from './task-id.ts';

export interface LocalStateOptions {
  readonly directory: StateDirectory;
  readonly clock: Clock;
  /** Name of the thread. */
  readonly owner: string;
}

/** What is on disk of a stream thread's tasks, while they are not open. */
export class LocalState {
  readonly #options: LocalStateOptions;
  /** By task what is of no use: some of its stores, or all that it has (null). */
  readonly #corrupted = new Map<TaskName, Set<string> | null>();

  constructor(options: LocalStateOptions) {
    this.#options = options;
  }

  /** What the error speaks of, a store or all of the task, is wiped before the task begins anew. */
  corrupted(task: TaskName, { context: { store } }: TaskCorruptedError): void {
    const known = this.#corrupted.get(task);
    if (typeof store !== 'string') this.#corrupted.set(task, null);
    else if (known === undefined) this.#corrupted.set(task, new Set([store]));
    else known?.add(store);
  }

  /**
   * To be awaited before a task is opened. Another thread of this client may have had it and be still
   * writing: that is waited for, for a while.
   *
   * @throws StateDirLockedError when it takes longer; later is another chance
   */
  async prepare(task: TaskName): Promise<void> {
    const { directory, clock, owner } = this.#options;
    const released = directory.released(task);
    if (released !== undefined) await within(clock, TASK_STATE_WAIT_MAX_MS, released);
    const stores = this.#corrupted.get(task);
    if (stores === undefined) return;
    directory.hold(task, owner);
    try {
      if (stores === null) directory.wipe(task);
      else await wipeStores(directory.taskPath(task), task, stores);
      this.#corrupted.delete(task);
    } finally {
      directory.release(task, clock.now(), true);
    }
  }
}
