import { join } from 'node:path';
import type * as Lmdb from 'lmdb';
import type { Database, RootDatabase } from 'lmdb';
import { StreamsError, TaskCorruptedError } from '../../errors.ts';
import { makeDirectory, syncFile } from '../../platform/directories.ts';
import { yieldToEventLoop } from '../../platform/event-loop.ts';
import { LMDB_TABLES_SPARE } from '../limits.ts';
import { ensureRoom, storageError } from '../storage-error.ts';
import { damageOf } from './data-file.ts';
import { loadLmdb } from './load-lmdb.ts';
import { StateTable } from './state-table.ts';

/** Version of the layout below a task's directory. Another one is not opened, but wiped and restored. */
const FORMAT = '2';
/** LMDB's. */
const DATA_FILE = 'data.mdb';
/** No store's: its tables begin with its name, and there is no slash in that. */
const META_TABLE = '/meta';
const OFFSETS_TABLE = '/offsets';
const FORMAT_KEY = 'format';

export interface EnvironmentOptions {
  /** `<state.dir>/<application.id>/<task>`; made if it is not there. */
  readonly directory: string;
  readonly taskId: string;
  /** Tables that will be open at a time: one per store, or per segment of a store in segments. */
  readonly tableCount: number;
  /** What is thrown instead when what is there turns out damaged after it was opened. */
  readonly onDamaged?: ((error: TaskCorruptedError) => Error) | undefined;
}

/**
 * The persistent state of one task: one LMDB environment, a table per store (or per segment of a
 * store), and the changelog offsets that the tables stand at.
 *
 * Nothing is synced to disk while it runs: after a kill the operating system still has every page, and
 * after a power loss the task directory is wiped and restored (see `state-directory`).
 */
export class StateEnvironment {
  readonly directory: string;
  readonly #taskId: string;
  readonly #onDamaged: EnvironmentOptions['onDamaged'];
  readonly #root: RootDatabase<Buffer, string>;
  #offsetsTable: Database<Buffer, string> | null = null;
  readonly #tables = new Map<string, StateTable>();
  #isClosed = false;

  private constructor(options: EnvironmentOptions, { open }: typeof Lmdb) {
    this.directory = options.directory;
    this.#taskId = options.taskId;
    this.#onDamaged = options.onDamaged;
    this.#root = open<Buffer, string>({
      path: options.directory,
      // A directory with a dot in its name would be taken for a file.
      noSubdir: false,
      maxDbs: options.tableCount + LMDB_TABLES_SPARE,
      noSync: true,
      overlappingSync: false,
      // A write is its own transaction at once: we gather by ourselves.
      commitDelay: 0,
      eventTurnBatching: false,
      encoding: 'binary',
    });
  }

  /**
   * @throws TaskCorruptedError when what is there cannot be used: wipe the directory, and restore
   * @throws ConfigError when LMDB cannot be loaded
   */
  static open(options: EnvironmentOptions): StateEnvironment {
    const { directory, taskId } = options;
    const lmdb = loadLmdb();
    try {
      makeDirectory(directory);
      ensureRoom(directory, taskId);
      const damage = damageOf(join(directory, DATA_FILE));
      if (damage !== null) throw corrupted(options, `is damaged (${DATA_FILE}: ${damage})`);
      const environment = new StateEnvironment(options, lmdb);
      const format = environment.#format();
      if (format === FORMAT) return environment;
      // Nothing waits to be written, so it is closed when this returns.
      void environment.#root.close();
      throw corrupted(options, `has the format ${format}, this version reads ${FORMAT}`);
    } catch (error) {
      if (error instanceof StreamsError) throw error;
      throw storageError(error, directory, taskId);
    }
  }

  /** The table of this name, made if it is not there. */
  table(name: string): StateTable {
    let table = this.#tables.get(name);
    if (table === undefined) {
      table = this.#open(name);
      this.#tables.set(name, table);
    }
    return table;
  }

  #open(name: string): StateTable {
    const asError = (error: unknown): Error => this.#asError(error);
    try {
      const database = this.#root.openDB<Buffer, Buffer>({
        name,
        encoding: 'binary',
        keyEncoding: 'binary',
      });
      return new StateTable(name, database, asError);
    } catch (error) {
      throw asError(error);
    }
  }

  /** Names of the tables that are on disk and begin like this. */
  tableNames(prefix: string): string[] {
    const names: string[] = [];
    for (const name of this.#root.getKeys()) {
      if (name.startsWith(prefix)) names.push(name);
    }
    return names;
  }

  /**
   * Empties a store that is filled from a changelog, if nothing says at which offset it stands: a kill came
   * while it was first filled. Its changelog is read from the start then, and may have lost the
   * tombstones of rows that are here.
   */
  emptyUnfinished(store: string): void {
    if (this.offset(store) !== null) return;
    for (const name of this.tableNames(store)) {
      if (name === store || name.startsWith(`${store}/`)) this.table(name).clear();
    }
  }

  /** Removes a table with all that is in it. */
  async dropTable(name: string): Promise<void> {
    const table = this.table(name);
    this.#tables.delete(name);
    await this.#written(() => table.drop());
  }

  /** The changelog's next offset after all that the store's tables hold; null if they hold nothing sure. */
  offset(store: string): bigint | null {
    const bytes = this.#offsets.getBinary(store);
    return bytes === undefined ? null : bytes.readBigInt64LE(0);
  }

  /** To be written after what it speaks of. */
  async setOffset(store: string, offset: bigint): Promise<void> {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(offset, 0);
    await this.#written(() => this.#offsets.put(store, bytes));
  }

  /** The store's tables are not to be relied on: it is restored from the start. */
  async forgetOffset(store: string): Promise<void> {
    // Beside its offset there may be more, under `<store>/...`.
    for (const name of [...this.#offsets.getKeys({ start: store })]) {
      if (name !== store && !name.startsWith(`${store}/`)) continue;
      await this.#written(() => this.#offsets.remove(name));
    }
  }

  /** Puts and removals made by `action` become one transaction; resolves when it is committed. */
  async write(action: () => void): Promise<void> {
    ensureRoom(this.directory, this.#taskId);
    await this.#written(() => this.#root.batch(action));
  }

  /** Waits for what is being written; afterwards all of it survives a power loss. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#written(async () => {
      try {
        await this.#root.committed;
      } finally {
        await this.#root.close();
      }
      await syncFile(join(this.directory, DATA_FILE));
    });
  }

  async #written(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      throw this.#asError(await causeOf(error));
    }
  }

  #asError(error: unknown): Error {
    const known = storageError(error, this.directory, this.#taskId);
    return known instanceof TaskCorruptedError ? (this.#onDamaged?.(known) ?? known) : known;
  }

  /** Opened after the format is known. */
  get #offsets(): Database<Buffer, string> {
    this.#offsetsTable ??= this.#root.openDB({ name: OFFSETS_TABLE, encoding: 'binary' });
    return this.#offsetsTable;
  }

  #format(): string {
    const isNew = this.tableNames('').length === 0;
    const meta = this.#root.openDB<string, string>({ name: META_TABLE, encoding: 'string' });
    const found = meta.get(FORMAT_KEY);
    if (found === undefined && isNew) meta.putSync(FORMAT_KEY, FORMAT);
    return found ?? (isNew ? FORMAT : 'none');
  }
}

/**
 * What fails with a transaction says only that it failed. The reason is promised, in the same turn or
 * never: lmdb may look for whom to tell before the failure is there.
 */
async function causeOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { readonly commitError?: PromiseLike<unknown> };
  if (commitError === undefined) return error;
  const cause = Promise.resolve(commitError).then(
    () => error,
    (reason: unknown) => reason,
  );
  return Promise.race([cause, yieldToEventLoop().then(() => error)]);
}

function corrupted({ directory, taskId }: EnvironmentOptions, what: string): TaskCorruptedError {
  return new TaskCorruptedError(
    `The state of task ${taskId} in ${directory} ${what}; it is wiped and restored`,
    { context: { task: taskId, directory }, wipesState: true },
  );
}
