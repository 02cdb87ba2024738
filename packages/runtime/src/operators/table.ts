import type { TaskContext } from './task-context.ts';
import type { Awaitable, Outcome } from './outcome.ts';

/** Reads a table's current value while another node processes a record. One per task and reader. */
export interface ValueGetter<K, V> {
  /** Known after `init`: the table's store keeps history, so that `getAsOf` may be asked. */
  readonly isVersioned: boolean;
  /** Of the row that the last `get` found, -1 if none: read it before anything else is called. */
  readonly foundTimestamp: number;
  init(context: TaskContext): void;
  /** Right after `init`: what of it may be asynchronous. */
  start?(): Outcome;
  /** null if the table has no row under this key. */
  get(key: K): Awaitable<V | null>;
  /** The row that was current at `timestamp`; only of versioned tables. */
  getAsOf(key: K, timestamp: number): Awaitable<V | null>;
  close?(): unknown;
}

/** How other nodes read a table: which stores they must be connected to, and a getter per task. */
export interface TableView<K, V> {
  readonly storeNames: readonly string[];
  create(): ValueGetter<K, V>;
}

/**
 * What a table is to the operators that read it while a topology is built. One per table, shared by
 * all tasks.
 */
export interface TableSource<K, V> {
  /** A source table that nobody stored so far is stored from here on. */
  view(): TableView<K, V>;
  /**
   * Changes carry the old value from here on. False if this table has no store and need not get one;
   * `mustMaterialize` makes it get one.
   */
  enableSendingOldValues(mustMaterialize: boolean): boolean;
}
