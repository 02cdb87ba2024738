import { join } from 'node:path';
import type { Logger } from 'pino';
import {
  directorySize,
  isDirectory,
  listDirectories,
  readSmallFile,
} from '../../platform/directories.ts';
import { directoryHolder } from '../../platform/directory-lock.ts';
import { GLOBAL_DIRECTORY, MARK_FILE, StateDirectory, TASK_DIRECTORY } from './state-directory.ts';

/** `<state.dir>/<application.id>`, looked at from the outside. */
export interface LocalState {
  readonly directory: string;
  /** Who uses it now, in words; null: nobody. */
  readonly holder: string | null;
  /** False: what is in it was not written by this library. */
  readonly isOurs: boolean;
  readonly tasks: readonly LocalTaskState[];
  /** Of the global stores; null: there are none. */
  readonly globalBytes: number | null;
}

export interface LocalTaskState {
  /** As `0_1`. */
  readonly task: string;
  readonly bytes: number;
  /** Epoch ms. */
  readonly modifiedMs: number;
}

interface Place {
  /** `state.dir`. */
  readonly stateDir: string;
  readonly applicationId: string;
}

/** Changes nothing. Null if the application has no directory there. */
export async function describeLocalState({
  stateDir,
  applicationId,
}: Place): Promise<LocalState | null> {
  const directory = join(stateDir, applicationId);
  if (!isDirectory(directory)) return null;
  const found = listDirectories(directory);
  const tasks = found
    .filter(({ name }) => TASK_DIRECTORY.test(name))
    .map(({ name, modifiedMs }) => ({
      task: name,
      bytes: directorySize(join(directory, name)),
      modifiedMs,
    }))
    .sort(byTask);
  const hasGlobal = found.some(({ name }) => name === GLOBAL_DIRECTORY);
  return {
    directory,
    holder: await directoryHolder(directory),
    isOurs:
      readSmallFile(join(directory, MARK_FILE)) !== null || (tasks.length === 0 && !hasGlobal),
    tasks,
    globalBytes: hasGlobal ? directorySize(join(directory, GLOBAL_DIRECTORY)) : null,
  };
}

function byTask({ task: a }: LocalTaskState, { task: b }: LocalTaskState): number {
  const [aParts, bParts] = [a, b].map((task) => task.split('_').map(Number));
  const [aSubtopology = 0, aPartition = 0] = aParts ?? [];
  const [bSubtopology = 0, bPartition = 0] = bParts ?? [];
  return aSubtopology - bSubtopology || aPartition - bPartition;
}

/** An application's directory, held so that no instance can begin there meanwhile. */
export interface HeldLocalState {
  /** Removes all state that is in it. */
  remove(): void;
  release(): Promise<void>;
}

/** @throws StateDirLockedError when a process uses it, StorageIoError, StorageFullError */
export async function holdLocalState(
  place: Place & { readonly logger: Logger },
): Promise<HeldLocalState> {
  const directory = await StateDirectory.open(place);
  return {
    remove: () => {
      directory.removeAll();
    },
    release: () => directory.close(true),
  };
}
