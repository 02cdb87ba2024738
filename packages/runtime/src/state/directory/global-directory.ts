import { basename, join } from 'node:path';
import { listDirectories, readSmallFile, replaceFile } from '../../platform/directories.ts';
import type { StateDirectory } from './state-directory.ts';

/** Says which place is in use; without it the first. */
const CURRENT_FILE = 'current';

/**
 * `<state.dir>/<application.id>/global`: where the global stores are, in one of several places. A fresh
 * state is filled in a place of its own while the former one is still read, and becomes the current one
 * with a single write; what is not current at a start is left over.
 */
export class GlobalDirectory {
  readonly #directory: StateDirectory;
  #current: number;
  #latest: number;

  constructor(directory: StateDirectory) {
    this.#directory = directory;
    this.#current = Number.parseInt(readSmallFile(this.#currentPath) ?? '0', 10) || 0;
    this.#latest = this.#current;
    for (const { name } of listDirectories(directory.globalPath)) {
      if (name !== String(this.#current)) directory.wipe(directory.globalPlace(Number(name)));
    }
  }

  /** Name of the place that is in use. */
  get current(): string {
    return this.#directory.globalPlace(this.#current);
  }

  /** Name of a place where nothing is. */
  fresh(): string {
    this.#latest++;
    return this.#directory.globalPlace(this.#latest);
  }

  /** This place, which `fresh` gave, is the current one from here on, also after a power loss. */
  adopt(place: string): void {
    this.#current = Number(basename(place));
    replaceFile(this.#currentPath, `${String(this.#current)}\n`);
  }

  get #currentPath(): string {
    return join(this.#directory.globalPath, CURRENT_FILE);
  }
}
