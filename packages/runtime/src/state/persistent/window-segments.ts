import type { StateEnvironment } from './environment.ts';
import { LayeredTable, type RowCodec } from './layered-table.ts';
import { SegmentTable } from './segment-table.ts';

/** Windows whose starts lie in one interval. */
export interface Segment {
  readonly number: number;
  readonly table: SegmentTable;
  readonly rows: LayeredTable<string>;
}

export interface WindowSegmentsOptions {
  readonly environment: StateEnvironment;
  readonly storeName: string;
  readonly segmentMs: number;
  readonly codec: RowCodec<string>;
  /** Memory for the rows of one segment that are on disk as well, bytes. */
  readonly cleanBytesMax: number;
}

/** A window store's segments, each a table of its own, `<store>/<number>`, that goes as a whole. */
export class WindowSegments {
  readonly #environment: StateEnvironment;
  readonly #prefix: string;
  readonly #segmentMs: number;
  readonly #codec: RowCodec<string>;
  readonly #cleanBytesMax: number;
  readonly #live = new Map<number, Segment>();
  /** Lowest first. */
  #numbers: number[] = [];
  /** Their tables are still on disk. */
  #gone: SegmentTable[] = [];
  #last: Segment | undefined;

  constructor(options: WindowSegmentsOptions) {
    this.#environment = options.environment;
    // No store's name has a slash.
    this.#prefix = `${options.storeName}/`;
    this.#segmentMs = options.segmentMs;
    this.#codec = options.codec;
    this.#cleanBytesMax = options.cleanBytesMax;
    for (const name of this.#environment.tableNames(this.#prefix)) {
      const number = Number(name.slice(this.#prefix.length));
      // A store may have tables of another kind below its name, too.
      if (Number.isInteger(number)) this.#add(number, true);
    }
  }

  numberOf(time: number): number {
    return Math.floor(time / this.#segmentMs);
  }

  at(time: number): Segment | undefined {
    const number = this.numberOf(time);
    if (this.#last?.number === number) return this.#last;
    const found = this.#live.get(number);
    if (found !== undefined) this.#last = found;
    return found;
  }

  atOrMade(time: number): Segment {
    return this.at(time) ?? this.#add(this.numberOf(time), false);
  }

  /** The numbers of those that may hold windows which start from `from` to `to`, lowest first. */
  between(from: number, to: number): number[] {
    const first = this.numberOf(from);
    const last = this.numberOf(to);
    return this.#numbers.filter((number) => number >= first && number <= last);
  }

  get(number: number): Segment | undefined {
    return this.#live.get(number);
  }

  /** Those below this number are gone for ever, and so is the time that made them expire: it is committed. */
  expireBefore(number: number): void {
    while (this.#numbers.length > 0 && (this.#numbers[0] as number) < number) {
      const expired = this.#live.get(this.#numbers[0] as number) as Segment;
      this.#numbers.shift();
      this.#live.delete(expired.number);
      if (this.#last === expired) this.#last = undefined;
      if (expired.table.isOnDisk) this.#gone.push(expired.table);
    }
  }

  commit(): void {
    for (const { rows } of this.#live.values()) rows.commit();
  }

  /** What waits for the disk, in bytes of memory; a table that is to be dropped counts, too. */
  get unspilledBytes(): number {
    let bytes = this.#gone.length;
    for (const { rows } of this.#live.values()) bytes += rows.committedBytes;
    return bytes;
  }

  async spill(): Promise<void> {
    for (const { number, table, rows } of [...this.#live.values()]) {
      // It may have expired while another one was written.
      if (!this.#live.has(number) || rows.committedBytes === 0) continue;
      table.open();
      await rows.spill(this.#environment);
    }
  }

  /** Drops the tables of what has expired; not while a spill is under way. */
  async dropExpired(): Promise<void> {
    while (this.#gone.length > 0) await (this.#gone.shift() as SegmentTable).drop();
  }

  clear(): void {
    for (const { rows } of this.#live.values()) rows.clear();
    this.#live.clear();
    this.#numbers = [];
    this.#gone = [];
    this.#last = undefined;
  }

  #add(number: number, isOnDisk: boolean): Segment {
    const table = new SegmentTable(this.#environment, this.#prefix + String(number));
    // Before the layers, which look at what is there.
    if (isOnDisk) table.open();
    const rows = new LayeredTable(table, this.#codec, this.#cleanBytesMax);
    const segment = { number, table, rows };
    this.#live.set(number, segment);
    let at = this.#numbers.length;
    while (at > 0 && (this.#numbers[at - 1] as number) > number) at--;
    this.#numbers.splice(at, 0, number);
    this.#last = segment;
    return segment;
  }
}
