import { dirname } from 'node:path';
import type { Disk } from '@millrace/compaction';

/**
 * A small file that is replaced as a whole: written beside, synced, renamed over, directory synced. A
 * crash at any point leaves the old content or the new. Saves that are asked for while one is under way
 * share the next one, which takes the content as it is by then.
 */
export class DurableFile {
  readonly path: string;
  readonly #disk: Disk;
  readonly #content: () => string;
  #running: Promise<void> | null = null;
  #queued: Promise<void> | null = null;

  /** `content` is asked for at the moment of writing. */
  constructor(disk: Disk, path: string, content: () => string) {
    this.#disk = disk;
    this.path = path;
    this.#content = content;
  }

  /** Resolves when what `content` gives now, or later, is durable. */
  save(): Promise<void> {
    if (this.#queued !== null) return this.#queued;
    if (this.#running === null) return this.#start();
    const start = (): Promise<void> => this.#start();
    this.#queued = this.#running.then(start, start);
    return this.#queued;
  }

  #start(): Promise<void> {
    this.#queued = null;
    const running = this.#write().finally(() => {
      if (this.#running === running) this.#running = null;
    });
    this.#running = running;
    return running;
  }

  async #write(): Promise<void> {
    const temporary = `${this.path}.tmp`;
    this.#disk.writeFile(temporary, Buffer.from(this.#content(), 'utf8'));
    const file = this.#disk.open(temporary, 'readWrite');
    try {
      await file.sync();
    } finally {
      file.close();
    }
    this.#disk.rename(temporary, this.path);
    await this.#disk.syncDirectory(dirname(this.path));
  }
}
