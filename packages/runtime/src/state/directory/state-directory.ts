import { join } from 'node:path';
import type { Logger } from 'pino';
import { StateDirLockedError } from '../../errors.ts';
import {
  isTemporary,
  listDirectories,
  makeDirectory,
  readSmallFile,
  removeDirectory,
  replaceFile,
  touchDirectory,
} from '../../platform/directories.ts';
import { bootId, lockDirectory, type DirectoryLock } from '../../platform/directory-lock.ts';
import { storageError } from '../storage-error.ts';

/** Version of the layout; another one is wiped and restored. */
const FORMAT = '1';
export const MARK_FILE = 'millrace-state';
export const TASK_DIRECTORY = /^\d+_\d+$/;
export const GLOBAL_DIRECTORY = 'global';

export interface StateDirectoryOptions {
  /** `state.dir`. */
  readonly stateDir: string;
  readonly applicationId: string;
  readonly logger: Logger;
}

/** Who uses a task's directory now. */
interface Hold {
  readonly holder: string;
  readonly released: Promise<void>;
  readonly release: () => void;
}

/**
 * `<state.dir>/<application.id>`: a directory per task and one for the global stores, held by one
 * process at a time.
 *
 * State files are not synced while they are in use, so they are good after a kill but not after a power
 * loss. A mark says whether the directory was closed cleanly, and in which run of the machine it was in
 * use: state that was in use when the power went is wiped, and restored from its changelogs.
 */
export class StateDirectory {
  readonly path: string;
  readonly #logger: Logger;
  readonly #lock: DirectoryLock;
  readonly #held = new Map<string, Hold>();
  #isClean = true;

  private constructor(path: string, lock: DirectoryLock, logger: Logger) {
    this.path = path;
    this.#lock = lock;
    this.#logger = logger;
  }

  /** @throws StateDirLockedError when another process, or another client of this one, has it */
  static async open(options: StateDirectoryOptions): Promise<StateDirectory> {
    const { stateDir, applicationId, logger } = options;
    const path = join(stateDir, applicationId);
    try {
      makeDirectory(path);
    } catch (error) {
      throw storageError(error, path, null);
    }
    const lock = await lockDirectory(path).catch((error: unknown) => {
      throw new StateDirLockedError(
        `${(error as Error).message}: stop it, or give this instance another state.dir`,
        { cause: error, context: { directory: path } },
      );
    });
    if (isTemporary(path)) {
      logger.info(
        { directory: path },
        'local state is below the directory for temporary files, which the system may empty; state.dir says where else',
      );
    }
    const directory = new StateDirectory(path, lock, logger);
    try {
      directory.#wipeWhatCannotBeTrusted();
      directory.#mark(false);
    } catch (error) {
      await lock.release();
      throw storageError(error, path, null);
    }
    return directory;
  }

  /**
   * Takes a task's directory: while a task moves from one stream thread to another, the former may
   * still be writing.
   *
   * @throws StateDirLockedError when somebody has it
   */
  hold(taskName: string, holder: string): void {
    const current = this.#held.get(taskName);
    if (current !== undefined) {
      throw new StateDirLockedError(
        `${this.taskPath(taskName)} is still in use by ${current.holder}: ${holder} tries again`,
        { context: { task: taskName, directory: this.taskPath(taskName) } },
      );
    }
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#held.set(taskName, { holder, released, release });
  }

  /**
   * Its holder has closed it. `isClean`: all of it, and synced.
   *
   * @param nowMs epoch ms; the age of what is left there counts from here
   */
  release(taskName: string, nowMs: number, isClean: boolean): void {
    this.#isClean &&= isClean;
    touchDirectory(this.taskPath(taskName), nowMs);
    this.#held.get(taskName)?.release();
    this.#held.delete(taskName);
  }

  /** Resolves when nobody uses the task's directory; at once if nobody does. */
  released(taskName: string): Promise<void> | undefined {
    return this.#held.get(taskName)?.released;
  }

  taskPath(taskName: string): string {
    return join(this.path, taskName);
  }

  /** The global stores', in places of their own (see `GlobalDirectory`). */
  get globalPath(): string {
    return join(this.path, GLOBAL_DIRECTORY);
  }

  /** Name of a place of the global stores, to be held and released like a task's. */
  globalPlace(generation: number): string {
    return `${GLOBAL_DIRECTORY}/${String(generation)}`;
  }

  /** Names of the tasks that have state here. */
  tasks(): string[] {
    return this.#taskDirectories().map(({ name }) => name);
  }

  wipe(taskName: string): void {
    removeDirectory(this.taskPath(taskName));
  }

  /** Removes the state of tasks that nobody here owns and that was not touched for `ageMs`. */
  cleanUp(isOwned: (taskName: string) => boolean, nowMs: number, ageMs: number): void {
    for (const { name, modifiedMs } of this.#taskDirectories()) {
      if (this.#held.has(name) || isOwned(name) || nowMs - modifiedMs < ageMs) continue;
      this.#logger.info(
        { task: name, directory: this.path },
        'state of a task that is gone removed',
      );
      this.wipe(name);
    }
  }

  /** All state of the application on this machine. */
  removeAll(): void {
    for (const name of this.tasks()) this.wipe(name);
    removeDirectory(this.globalPath);
  }

  /** `isClean`: everything in it is closed and synced. */
  async close(isClean: boolean): Promise<void> {
    try {
      if (isClean && this.#isClean && this.#held.size === 0) this.#mark(true);
    } finally {
      await this.#lock.release();
    }
  }

  #taskDirectories(): ReturnType<typeof listDirectories> {
    return listDirectories(this.path).filter(({ name }) => TASK_DIRECTORY.test(name));
  }

  /** Of tasks, or of global stores. */
  get #hasState(): boolean {
    return listDirectories(this.path).some(
      ({ name }) => name === GLOBAL_DIRECTORY || TASK_DIRECTORY.test(name),
    );
  }

  #wipeWhatCannotBeTrusted(): void {
    const mark = readSmallFile(join(this.path, MARK_FILE));
    if (mark === null) {
      if (!this.#hasState) return;
      this.#wipeAll('it has no mark');
      return;
    }
    const [format, boot, end] = mark.trim().split(' ');
    if (format !== FORMAT) this.#wipeAll(`it has the format ${format ?? ''}, not ${FORMAT}`);
    else if (end !== 'clean' && boot !== bootId()) {
      this.#wipeAll('it was in use when the machine went down');
    }
  }

  #wipeAll(why: string): void {
    if (this.#hasState) {
      this.#logger.warn(
        { directory: this.path, tasks: this.tasks(), why },
        'local state cannot be trusted; it is wiped and restored from Kafka',
      );
    }
    this.removeAll();
  }

  #mark(isClean: boolean): void {
    const end = isClean ? 'clean' : 'open';
    replaceFile(join(this.path, MARK_FILE), `${FORMAT} ${bootId()} ${end}\n`);
  }
}
