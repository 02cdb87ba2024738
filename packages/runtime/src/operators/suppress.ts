import type { RecordHeaders } from '@millrace/protocol';
import { BufferFullError } from '../errors.ts';
import type { BufferedRecord } from '../state/buffer/buffered-record.ts';
import type { ChangeBuffer } from '../state/buffer/change-buffer.ts';
import { leaveOrigin } from './origin.ts';
import type { Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import type { TableSource, TableView, ValueGetter } from './table.ts';
import type { TaskContext } from './task-context.ts';

/** When a suppressed table's changes are let go. */
export interface SuppressRule<K> {
  /** The time under which a change is kept: its own, or the end of its window. */
  readonly timeOf: (key: K, timestamp: number) => number;
  /** How long after that time it is let go. */
  readonly waitMs: number;
  /** Infinity: unbounded. */
  readonly maxRecords: number;
  /** Infinity: unbounded. */
  readonly maxBytes: number;
  readonly whenFull: 'emitEarly' | 'shutDown';
  /** A deleted row is not passed on: nothing of its window was passed on before either. */
  readonly dropsTombstones: boolean;
}

/** A suppressed table to other operators: what was passed on so far, so the parent's row before what is kept. */
export class SuppressedTable<K, V> implements TableSource<K, V> {
  readonly storeName: string;
  readonly #parent: TableSource<K, V>;

  constructor(parent: TableSource<K, V>, storeName: string) {
    this.#parent = parent;
    this.storeName = storeName;
  }

  view(): TableView<K, V> {
    const parent = this.#parent.view();
    return {
      storeNames: [this.storeName, ...parent.storeNames],
      create: () => new SuppressedGetter(parent.create(), this.storeName),
    };
  }

  enableSendingOldValues(mustMaterialize: boolean): boolean {
    return this.#parent.enableSendingOldValues(mustMaterialize);
  }
}

class SuppressedGetter<K, V> implements ValueGetter<K, V> {
  readonly isVersioned = false;
  readonly #parent: ValueGetter<K, V>;
  readonly #storeName: string;
  #buffer: ChangeBuffer<K, V> | null = null;
  #isFromBuffer = false;

  constructor(parent: ValueGetter<K, V>, storeName: string) {
    this.#parent = parent;
    this.#storeName = storeName;
  }

  /** What stood before the changes that are kept has a timestamp that nobody knows. */
  get foundTimestamp(): number {
    return this.#isFromBuffer ? -1 : this.#parent.foundTimestamp;
  }

  init(context: TaskContext): void {
    this.#parent.init(context);
    this.#buffer = context.store(this.#storeName) as unknown as ChangeBuffer<K, V>;
  }

  get(key: K): Awaitable<V | null> {
    const buffer = this.#buffer as ChangeBuffer<K, V>;
    const record = buffer.find(key);
    this.#isFromBuffer = record !== undefined;
    return record === undefined ? this.#parent.get(key) : buffer.priorOf(record);
  }

  /** A suppressed table is never versioned: its rows as they are. */
  getAsOf(key: K, _timestamp: number): Awaitable<V | null> {
    return this.get(key);
  }

  start(): Outcome {
    return this.#parent.start?.();
  }

  close(): unknown {
    return this.#parent.close?.();
  }
}

/**
 * `suppress`. Keeps the last change of each key and passes it on when its time has come; changes that
 * come later take its place, but not its time. Until a window closes: once stream time has reached the
 * window's end plus grace; a row that is deleted by then is not passed on. Until a time limit: once
 * stream time has gone on by the limit since the timestamp of the key's first change that is kept;
 * deleted rows are passed on. Stream time is this operator's own, the change in hand included, so
 * nothing is let go without a new change.
 *
 * Changes are let go in the order of their times, then of their keys' bytes, with the last change's
 * new value, old value, timestamp and headers, and with its topic, partition and offset as the
 * record's. When the buffer holds more than it may, the earliest are let go early, or processing ends.
 */
export class SuppressOperator<K, V> extends ProcessorNode {
  readonly #rule: SuppressRule<K>;
  readonly #storeName: string;
  #buffer: ChangeBuffer<K, V> | null = null;
  #context: TaskContext | null = null;
  #streamTime = -1;
  /** Changes that were passed on so far. */
  emittedCount = 0;

  constructor(name: string, rule: SuppressRule<K>, storeName: string) {
    super(name);
    this.#rule = rule;
    this.#storeName = storeName;
  }

  override init(context: TaskContext): void {
    this.#context = context;
    this.#buffer = context.store(this.#storeName) as unknown as ChangeBuffer<K, V>;
    this.#streamTime = -1;
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const context = this.#context as TaskContext;
    const buffer = this.#buffer as ChangeBuffer<K, V>;
    if (timestamp > this.#streamTime) this.#streamTime = timestamp;
    buffer.put(
      this.#rule.timeOf(key as K, timestamp),
      key as K,
      value as V | null,
      old as V | null,
      timestamp,
      headers,
      context.topic,
      context.partition,
      context.offset(),
    );
    if (buffer.needsCommit) context.requestCommit();
    return this.#letGo();
  }

  /** Everything whose time has come, then what is too much. */
  #letGo(): Outcome {
    const buffer = this.#buffer as ChangeBuffer<K, V>;
    for (let record = this.#next(); record !== undefined; record = this.#next()) {
      const outcome = this.#emit(record);
      if (outcome !== undefined) return this.#goOn(outcome, record);
      buffer.remove(record);
    }
    return undefined;
  }

  async #goOn(emitted: Promise<void>, record: BufferedRecord): Promise<void> {
    await emitted;
    (this.#buffer as ChangeBuffer<K, V>).remove(record);
    await this.#letGo();
  }

  #next(): BufferedRecord | undefined {
    const { first } = this.#buffer as ChangeBuffer<K, V>;
    if (first === undefined) return undefined;
    const { waitMs, whenFull } = this.#rule;
    if (first.time <= this.#streamTime - waitMs) return first;
    if (!this.#isFull()) return undefined;
    if (whenFull === 'emitEarly') return first;
    throw this.#full();
  }

  #isFull(): boolean {
    const { recordCount, estimatedBytes } = this.#buffer as ChangeBuffer<K, V>;
    return recordCount > this.#rule.maxRecords || estimatedBytes > this.#rule.maxBytes;
  }

  #emit(record: BufferedRecord): Outcome {
    if (record.value === null && this.#rule.dropsTombstones) return undefined;
    const context = this.#context as TaskContext;
    const buffer = this.#buffer as ChangeBuffer<K, V>;
    const key = buffer.keyOf(record);
    const value = buffer.valueOf(record);
    const old = buffer.oldOf(record);
    const before = context.origin;
    this.emittedCount++;
    context.origin = record;
    let outcome: Outcome;
    try {
      outcome = this.children.forward(key, value, old, record.timestamp, record.headers);
    } catch (error) {
      context.origin = before;
      throw error;
    }
    return leaveOrigin(context, before, outcome);
  }

  #full(): BufferFullError {
    const { maxRecords, maxBytes } = this.#rule;
    const { recordCount, estimatedBytes } = this.#buffer as ChangeBuffer<K, V>;
    return new BufferFullError(
      `${this.name} buffer exceeded its max capacity. Currently [${String(recordCount)}/${bound(maxRecords)}] records ` +
        `and [${String(estimatedBytes)}/${bound(maxBytes)}] bytes. Allow it more, or let it emit early.`,
      { context: { node: this.name, recordCount, estimatedBytes } },
    );
  }
}

function bound(limit: number): string {
  return limit === Infinity ? 'unbounded' : String(limit);
}
