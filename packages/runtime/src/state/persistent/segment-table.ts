import type { StateEnvironment } from './environment.ts';
import type { DiskTable } from './layered-table.ts';
import type { StateTable, StoredRow } from './state-table.ts';

/**
 * The table of one segment, made when something is written to it first: segments that expire before
 * that, as many as pass between two commits, take no room in the environment.
 */
export class SegmentTable implements DiskTable {
  readonly #environment: StateEnvironment;
  readonly #name: string;
  #table: StateTable | null = null;

  constructor(environment: StateEnvironment, name: string) {
    this.#environment = environment;
    this.#name = name;
  }

  get isOnDisk(): boolean {
    return this.#table !== null;
  }

  open(): void {
    this.#table ??= this.#environment.table(this.#name);
  }

  async drop(): Promise<void> {
    if (this.#table === null) return;
    this.#table = null;
    await this.#environment.dropTable(this.#name);
  }

  get rowCount(): number {
    return this.#table === null ? 0 : this.#table.rowCount;
  }

  read(key: string): Buffer | undefined {
    return this.#table?.read(key);
  }

  put(key: string, value: Buffer): void {
    this.open();
    (this.#table as StateTable).put(key, value);
  }

  remove(key: string): void {
    this.#table?.remove(key);
  }

  rows(from: string | null, to: string | null, isReverse: boolean): Iterable<StoredRow> {
    return this.#table === null ? [] : this.#table.rows(from, to, isReverse);
  }
}
