import type { Logger } from 'pino';
import type { TaskCorruptedError } from '../../errors.ts';
import { SPILL_BYTES, SPILL_INTERVAL_MS } from '../limits.ts';
import type { Clock } from '../../platform/clock.ts';
import { makeDirectory } from '../../platform/directories.ts';
import type { StateDirectory } from '../directory/state-directory.ts';
import { StateEnvironment } from './environment.ts';
import type { PersistentStore } from '../store.ts';
import { ownDirectory } from './own-directory.ts';

export interface TaskDiskOptions {
  readonly directory: StateDirectory;
  readonly taskName: string;
  /** Who has the task, in words. */
  readonly owner: string;
  /** Stores that are filled from a changelog. */
  readonly loggedStores?: ReadonlySet<string>;
  /** Tables that its stores may have open at a time. */
  readonly tableCount: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whoever waits for the disk may go on. */
  readonly onSpilled: () => void;
  /** See `EnvironmentOptions`. */
  readonly onDamaged?: (error: TaskCorruptedError) => Error;
}

/** What the disk needs to know of a store that is kept there. */
export type SpilledStore = Pick<
  PersistentStore,
  'name' | 'isOpen' | 'unspilledBytes' | 'spill' | 'close'
>;

/**
 * The disk of one task: opened when its first persistent store asks, written in the background when
 * enough is committed or has waited long enough, and closed with all that is committed.
 */
export class TaskDisk {
  readonly #options: TaskDiskOptions;
  readonly #stores: SpilledStore[] = [];
  #environment: StateEnvironment | null = null;
  #spilling: Promise<void> | null = null;
  #spilledMs: number;
  #isHeld = false;
  /** Once something could not be written, or turned out damaged, nothing is written: a later offset would speak of rows that are missing. */
  #isBroken = false;
  #failure: unknown = null;

  constructor(options: TaskDiskOptions) {
    this.#options = options;
    this.#spilledMs = options.clock.monotonicMs();
  }

  /**
   * Where the store is kept; from now on what it commits is written there.
   *
   * @throws TaskCorruptedError when what is there cannot be used
   * @throws StateDirLockedError when another thread has it
   */
  diskOf(store: SpilledStore): StateEnvironment {
    const { directory, taskName, tableCount, onDamaged, loggedStores } = this.#options;
    const damaged = (error: TaskCorruptedError): Error => {
      this.#isBroken = true;
      return onDamaged?.(error) ?? error;
    };
    this.#hold();
    this.#stores.push(store);
    this.#environment ??= StateEnvironment.open({
      directory: directory.taskPath(taskName),
      taskId: taskName,
      tableCount,
      onDamaged: damaged,
    });
    if (loggedStores?.has(store.name) === true) this.#environment.emptyUnfinished(store.name);
    return this.#environment;
  }

  /**
   * A directory for the files of a store that keeps them itself, made if it is not there. It is the
   * task's for as long as the disk is open, and goes when the store's state, or the task's, is wiped.
   *
   * @throws StateDirLockedError when another thread has it
   */
  directoryOf(storeName: string): string {
    this.#hold();
    const { directory, taskName } = this.#options;
    const path = ownDirectory(directory.taskPath(taskName), storeName);
    makeDirectory(path);
    return path;
  }

  /** Whether the store of this name, or the one behind its cache, is closed by the disk. */
  keeps(storeName: string): boolean {
    return this.#stores.some(({ name }) => name === storeName);
  }

  /** Begins to write what is committed if it is time; one at a time. Throws what the last one failed with. */
  spillIfDue(nowMs: number): void {
    this.#throwFailure();
    if (this.#spilling !== null || this.#isBroken) return;
    const bytes = unspilled(this.#stores);
    if (bytes === 0 || (bytes < SPILL_BYTES && nowMs - this.#spilledMs < SPILL_INTERVAL_MS)) return;
    this.#spilledMs = nowMs;
    this.#spilling = this.#spill(this.#stores)
      .catch((error: unknown) => {
        this.#isBroken = true;
        this.#failure = error;
      })
      .finally(() => {
        this.#spilling = null;
        this.#options.onSpilled();
      });
  }

  /** When something is to be written at the latest; Infinity if nothing waits for it. */
  get spillDueMs(): number {
    if (this.#isBroken || this.#spilling !== null || unspilled(this.#stores) === 0) return Infinity;
    return this.#spilledMs + SPILL_INTERVAL_MS;
  }

  /** Waits for the disk if it is so far behind that memory would grow. */
  room(): Promise<void> | undefined {
    if (this.#spilling === null || unspilled(this.#stores) < SPILL_BYTES) return undefined;
    return this.#spilling;
  }

  /** Whether what is committed takes so much memory that nothing should be added for now. */
  isBehind(): boolean {
    return this.#spilling !== null && unspilled(this.#stores) >= SPILL_BYTES;
  }

  /** Something could not be written, which `spillIfDue` will throw. */
  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** Everything that is committed reaches the disk, then the stores and the environment are closed. */
  async close(): Promise<void> {
    await this.#spilling;
    let isClean = false;
    try {
      this.#throwFailure();
      if (!this.#isBroken) await this.#spill(this.#stores.filter((store) => store.isOpen));
      isClean = await this.#closeEnvironment();
    } finally {
      await this.#closeEnvironment();
      this.#release(isClean);
    }
  }

  async #spill(stores: readonly SpilledStore[]): Promise<void> {
    const { clock, logger } = this.#options;
    const bytes = unspilled(stores);
    const startedMs = clock.monotonicMs();
    logger.debug({ bytes }, 'writing state to disk');
    for (const store of stores) await store.spill();
    logger.debug({ bytes, tookMs: clock.monotonicMs() - startedMs }, 'state is on disk');
  }

  async #closeEnvironment(): Promise<boolean> {
    for (const store of this.#stores) if (store.isOpen) store.close();
    const environment = this.#environment;
    this.#environment = null;
    await environment?.close();
    return !this.#isBroken;
  }

  #hold(): void {
    if (this.#isHeld) return;
    const { directory, taskName, owner } = this.#options;
    directory.hold(taskName, owner);
    this.#isHeld = true;
  }

  #release(isClean: boolean): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    const { directory, taskName, clock } = this.#options;
    directory.release(taskName, clock.now(), isClean);
  }

  #throwFailure(): void {
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure as Error;
  }
}

function unspilled(stores: readonly SpilledStore[]): number {
  let bytes = 0;
  for (const store of stores) bytes += store.unspilledBytes;
  return bytes;
}
