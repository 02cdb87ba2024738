import type { RecordHeaders } from '@millrace/protocol';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import type { ValueGetter } from './table.ts';
import type { JoinedTable } from './table-join.ts';
import type { TaskContext } from './task-context.ts';

/**
 * One side of a join of two tables, inner, left or outer. Each change of this side's table is joined
 * with the other table's row as it is now, and the result forwarded as a change to the node that
 * merges both sides: key and headers of the change, the higher timestamp of change and row.
 *
 * Inner: no output without a row on the other side; a tombstone is forwarded whenever there is one.
 * Left: the left table's changes are joined with null if there is no row on the right; changes on
 * the right give output only if there is a row on the left. Outer: both sides are like that left
 * one. Where both are null there is no result: a deletion is forwarded as a tombstone if there was
 * something before, and left out if not. The old result, if somebody below asked for it, is that of
 * the old value and the same row. A null key, and a late change of a versioned table, is dropped
 * and counted.
 */
export class TableJoinSideOperator<K, L, R, VR> extends ProcessorNode {
  readonly #table: JoinedTable<K, L, R, VR>;
  readonly #isLeft: boolean;
  readonly #other: ValueGetter<K, L | R>;
  /** This side's rows have no result without one on the other side. */
  readonly #needsOther: boolean;
  /** Rows on the other side have a result without one on this side. */
  readonly #isOptional: boolean;
  #context: TaskContext | null = null;

  constructor(name: string, table: JoinedTable<K, L, R, VR>, isLeft: boolean) {
    super(name);
    this.#table = table;
    this.#isLeft = isLeft;
    this.#other = (isLeft ? table.right.view : table.left.view).create();
    const { kind } = table;
    this.#needsOther = kind === 'inner' || (kind === 'left' && !isLeft);
    this.#isOptional = kind === 'outer' || (kind === 'left' && !isLeft);
  }

  override init(context: TaskContext): void {
    this.#context = context;
    this.#other.init(context);
  }

  override start(): Outcome {
    return this.#other.start?.();
  }

  override close(): unknown {
    return this.#other.close?.();
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest = true,
  ): Outcome {
    if (key === null) {
      this.#context?.recordDropped(this.name, 'its key is null', headers);
      return undefined;
    }
    if (!isLatest && (this.#isLeft ? this.#table.left : this.#table.right).isVersioned) {
      this.#context?.recordDropped(this.name, 'a newer row is in the versioned table', headers);
      return undefined;
    }
    const other = this.#other.get(key as K);
    if (isPromise(other)) return this.#otherLater(other, key as K, value, old, timestamp, headers);
    return this.#join(other, key as K, value, old, timestamp, headers);
  }

  #join(
    other: L | R | null,
    key: K,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (other === null && (this.#needsOther || (value === null && old === null))) return undefined;
    const newest = other === null ? timestamp : Math.max(timestamp, this.#other.foundTimestamp);
    const joined = this.#joined(value, other, key);
    if (isPromise(joined)) return this.#later(joined, other, key, old, newest, headers);
    const joinedOld = this.#table.sendsOldValues ? this.#joined(old, other, key) : null;
    if (isPromise(joinedOld)) return this.#oldLater(joined, joinedOld, key, newest, headers);
    return this.children.forward(key, joined ?? null, joinedOld ?? null, newest, headers);
  }

  #joined(value: unknown, other: L | R | null, key: K): Awaitable<VR | null> {
    if (value === null && (other === null || !this.#isOptional)) return null;
    const { joiner } = this.#table;
    return this.#isLeft
      ? joiner(value as L | null, other as R | null, key)
      : joiner(other as L | null, value as R | null, key);
  }

  async #otherLater(
    pending: PromiseLike<L | R | null>,
    key: K,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#join(await pending, key, value, old, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<VR | null>,
    other: L | R | null,
    key: K,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    const joined = (await pending) ?? null;
    const joinedOld = this.#table.sendsOldValues ? await this.#joined(old, other, key) : null;
    await this.children.forward(key, joined, joinedOld ?? null, timestamp, headers);
  }

  async #oldLater(
    joined: VR | null,
    pending: PromiseLike<VR | null>,
    key: K,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.children.forward(key, joined ?? null, (await pending) ?? null, timestamp, headers);
  }
}
