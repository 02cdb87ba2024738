import { CLEAN_ROWS_MAX_BYTES } from '../limits.ts';
import type { StateEnvironment } from './environment.ts';
import { textKeyedCodec } from './keyed-codec.ts';
import { byEndBounds, byEndRow, rowOfByEnd, sessionEndOf } from './session-row-key.ts';
import { WindowSegments } from './window-segments.ts';

/** Below a store's name, which has no slash. */
const SUFFIX = '/by-end';
/** Memory for rows of one segment that are on disk as well: they are hardly ever read twice. */
const CLEAN_BYTES_MAX = CLEAN_ROWS_MAX_BYTES / 16;
/** A row's value says nothing. */
const PRESENT = 1;

const CODEC = textKeyedCodec({
  write(_stored, _timestamp, target, position) {
    if (position >= target.length) return -1;
    return target.writeUInt8(PRESENT, position);
  },
  read: () => ({ stored: PRESENT, timestamp: -1 }),
});

/**
 * The sessions of a store by their end: rows without values, in segments beside those of the store. A
 * row that the store no longer has may be left from before a kill, so what is found is looked for there.
 */
export class SessionEndIndex {
  readonly #environment: StateEnvironment;
  readonly #name: string;
  readonly #segments: WindowSegments;
  /** On disk it has all that the store has. */
  #isComplete: boolean;

  constructor(environment: StateEnvironment, storeName: string, segmentMs: number) {
    this.#environment = environment;
    this.#name = storeName + SUFFIX;
    this.#isComplete = environment.offset(this.#name) !== null;
    this.#segments = new WindowSegments({
      environment,
      storeName: this.#name,
      segmentMs,
      codec: CODEC,
      cleanBytesMax: CLEAN_BYTES_MAX,
    });
  }

  /** False: the store was written without it, or never. Everything must be put into it before it is asked. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  put(rowKey: string): void {
    this.#segments.atOrMade(sessionEndOf(rowKey)).rows.put(byEndRow(rowKey), PRESENT, -1);
  }

  remove(rowKey: string): void {
    this.#segments.at(sessionEndOf(rowKey))?.rows.put(byEndRow(rowKey), null, -1);
  }

  /** Row keys of the store that end from `earliest` to `latest`, both included, by end, start and key. */
  *between(earliest: number, latest: number): Generator<string> {
    const [lowest, above] = byEndBounds(earliest, latest);
    for (const number of this.#segments.between(earliest, latest)) {
      const segment = this.#segments.get(number);
      if (segment === undefined) continue;
      for (const { key } of segment.rows.range(lowest, above, false)) yield rowOfByEnd(key);
    }
  }

  expireBefore(number: number): void {
    this.#segments.expireBefore(number);
  }

  commit(): void {
    this.#segments.commit();
  }

  get unspilledBytes(): number {
    return this.#segments.unspilledBytes;
  }

  async spill(): Promise<void> {
    await this.#segments.spill();
    await this.#segments.dropExpired();
    if (this.#isComplete) return;
    await this.#environment.setOffset(this.#name, 0n);
    this.#isComplete = true;
  }

  clear(): void {
    this.#segments.clear();
  }

  /** Removes the index of a store that is written without one from now on. */
  static async drop(environment: StateEnvironment, storeName: string): Promise<void> {
    const name = storeName + SUFFIX;
    if (environment.offset(name) === null) return;
    // First: whatever comes in between, it counts as incomplete.
    await environment.forgetOffset(name);
    for (const table of environment.tableNames(`${name}/`)) await environment.dropTable(table);
  }
}
