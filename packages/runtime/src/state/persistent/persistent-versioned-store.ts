import { InvariantError } from '../../errors.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import { HistoryStore } from '../history-store.ts';
import { StoreMeasures } from '../measures.ts';
import { EXPIRY_BUCKETS_PER_RETENTION, HISTORY_SWEEP_ROWS } from '../limits.ts';
import { VersionHistory } from '../memory/version-history.ts';
import type { PartitionAppender } from '../partition-appender.ts';
import type { PersistentStore, StoreContext } from '../store.ts';
import { environmentOf } from './environment-of.ts';
import type { StateEnvironment } from './environment.ts';
import { HistoryFormat } from './history-format.ts';
import { keyedCodec } from './keyed-codec.ts';
import { LayeredTable, type RowCodec } from './layered-table.ts';
import { UNCOMMITTED, type Row } from './row.ts';
import { readStreamTime, writeStreamTime } from './stream-time.ts';

/**
 * A versioned store on disk, one row per key with its whole history. A history forgets what has expired
 * when it is written; histories that nobody writes are looked through at commits, some at a time, round
 * after round.
 */
export class PersistentVersionedStore<K, V> extends HistoryStore<K, V> implements PersistentStore {
  readonly isPersistent = true;
  readonly measures = new StoreMeasures('lmdb-state');

  readonly #codec: RowCodec<K>;
  #environment: StateEnvironment | null = null;
  #table: LayeredTable<K> | null = null;
  #committedOffset: bigint | null = null;
  #committedStreamTime = -1;
  /** Where the look for expired versions goes on; null: it is through. */
  #hand: string | null = null;
  #lookedLimit = 0;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    historyRetentionMs: number,
  ) {
    super(name, keySerde, valueSerde, historyRetentionMs);
    this.#codec = keyedCodec(this.keys, new HistoryFormat(this.values));
  }

  override open(context: StoreContext, changelog: PartitionAppender | null): void {
    const environment = environmentOf(context, this);
    this.#environment = environment;
    const table = environment.table(this.name);
    this.#table = new LayeredTable(table, this.#codec);
    this.#committedOffset = environment.offset(this.name);
    // One that was wiped takes all of its changelog, because a latest value never expires.
    const isWiped = this.#committedOffset === null && table.rowCount === 0;
    this.observedStreamTime = isWiped ? -1 : readStreamTime(environment, this.name);
    this.#committedStreamTime = this.observedStreamTime;
    super.open(context, changelog);
  }

  committedOffset(): bigint | null {
    return this.#committedOffset;
  }

  commit(changelogOffset: bigint | null): void {
    if (this.observedStreamTime > this.#committedStreamTime) this.#lookForExpired();
    this.#rows.commit();
    this.#committedStreamTime = this.observedStreamTime;
    if (changelogOffset !== null) this.#committedOffset = changelogOffset;
  }

  get unspilledBytes(): number {
    return this.#rows.committedBytes;
  }

  async spill(): Promise<void> {
    const environment = this.#environment as StateEnvironment;
    const offset = this.#committedOffset;
    const streamTime = this.#committedStreamTime;
    await this.#rows.spill(environment);
    await writeStreamTime(environment, this.name, streamTime);
    if (offset !== null) await environment.setOffset(this.name, offset);
  }

  override close(): void {
    super.close();
    this.#table?.clear();
    this.#table = null;
    this.#environment = null;
    this.#hand = null;
    this.#lookedLimit = 0;
  }

  protected historyOf(key: K): VersionHistory | undefined {
    const row = this.#rows.find(key);
    return row === null ? undefined : (row.stored as VersionHistory);
  }

  protected change(key: K, stored: unknown, timestamp: number): number | null {
    const row = this.#rows.find(key);
    const history = this.#changeable(row);
    const validTo = history.put(timestamp, stored);
    const isEmpty = history.expire(this.expiryLimit);
    const changed = isEmpty ? null : history;
    if (row === null) this.#rows.put(key, changed, timestamp);
    else this.#rows.update(row, changed, timestamp);
    return validTo;
  }

  get #rows(): LayeredTable<K> {
    if (this.#table === null) throw new InvariantError(`The store ${this.name} is not open`);
    return this.#table;
  }

  /** What is committed may be on its way to disk: it stays as it is. */
  #changeable(row: Row<K> | null): VersionHistory {
    if (row === null) return new VersionHistory();
    const history = row.stored as VersionHistory;
    return row.layer === UNCOMMITTED ? history : history.copy();
  }

  /**
   * A round begins when enough time has passed that it finds something, and then takes a step at each
   * commit.
   */
  #lookForExpired(): void {
    const limit = this.expiryLimit;
    const interval = Math.max(1, this.historyRetentionMs / EXPIRY_BUCKETS_PER_RETENTION);
    if (this.#hand === null) {
      if (limit < this.#lookedLimit + interval) return;
      this.#lookedLimit = limit;
    }
    const expired: Row<K>[] = [];
    this.#hand = this.#rows.visitClean(this.#hand, HISTORY_SWEEP_ROWS, (row) => {
      if ((row.stored as VersionHistory).canExpire(limit)) expired.push(row);
    });
    for (const { key, stored } of expired) {
      const history = (stored as VersionHistory).copy();
      this.#rows.put(key, history.expire(limit) ? null : history, -1);
    }
  }
}
