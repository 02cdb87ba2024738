import { InvariantError } from '../errors.ts';
import { inOrder, isPromise, outcomeOf, type Awaitable, type Outcome } from './outcome.ts';
import type { ValueGetter } from './table.ts';
import type { ValueJoiner } from './stream-table-join.ts';
import type { TaskContext } from './task-context.ts';

export type TableJoinKind = 'inner' | 'left' | 'outer';

/** Where a side has no row, and the kind of join allows that, the joiner gets null for it. */
export type TableJoiner<K, L, R, VR> = ValueJoiner<K, L | null, R | null, VR | null>;

/** What a join of two tables makes of two rows. */
export interface TableJoin<K, L, R, VR> {
  readonly kind: TableJoinKind;
  readonly joiner: TableJoiner<K, L, R, VR>;
}

/** Joins the two tables' rows each time it is asked: a join that is not stored. */
export class JoinGetter<K, L, R, VR> implements ValueGetter<K, VR> {
  readonly isVersioned = false;
  readonly #table: TableJoin<K, L, R, VR>;
  readonly #left: ValueGetter<K, L>;
  readonly #right: ValueGetter<K, R>;
  foundTimestamp = -1;

  constructor(table: TableJoin<K, L, R, VR>, left: ValueGetter<K, L>, right: ValueGetter<K, R>) {
    this.#table = table;
    this.#left = left;
    this.#right = right;
  }

  init(context: TaskContext): void {
    this.#left.init(context);
    this.#right.init(context);
  }

  start(): Outcome {
    return inOrder(this.#left.start?.(), () => this.#right.start?.());
  }

  get(key: K): Awaitable<VR | null> {
    const left = this.#left.get(key);
    if (isPromise(left)) return this.#leftLater(key, left);
    return this.#withLeft(key, left, this.#left.foundTimestamp);
  }

  getAsOf(): never {
    throw new InvariantError('The result of a join of tables keeps no history.');
  }

  close(): unknown {
    const left = outcomeOf(this.#left.close?.());
    return inOrder(left, () => outcomeOf(this.#right.close?.()));
  }

  #withLeft(key: K, left: L | null, leftTimestamp: number): Awaitable<VR | null> {
    if (left === null && this.#table.kind !== 'outer') return this.#none();
    const right = this.#right.get(key);
    if (isPromise(right)) return this.#rightLater(key, left, leftTimestamp, right);
    return this.#joined(key, left, leftTimestamp, right);
  }

  #joined(key: K, left: L | null, leftTimestamp: number, right: R | null): Awaitable<VR | null> {
    if (right === null && (left === null || this.#table.kind === 'inner')) return this.#none();
    const timestamp = Math.max(leftTimestamp, right === null ? -1 : this.#right.foundTimestamp);
    const joined = this.#table.joiner(left, right, key);
    return isPromise(joined) ? this.#found(joined, timestamp) : this.#foundNow(joined, timestamp);
  }

  #none(): null {
    this.foundTimestamp = -1;
    return null;
  }

  #foundNow(value: VR | null | undefined, timestamp: number): VR | null {
    const found = value ?? null;
    this.foundTimestamp = found === null ? -1 : timestamp;
    return found;
  }

  async #leftLater(key: K, pending: PromiseLike<L | null>): Promise<VR | null> {
    const left = await pending;
    return this.#withLeft(key, left, this.#left.foundTimestamp);
  }

  async #rightLater(
    key: K,
    left: L | null,
    leftTimestamp: number,
    pending: PromiseLike<R | null>,
  ): Promise<VR | null> {
    return this.#joined(key, left, leftTimestamp, await pending);
  }

  async #found(pending: PromiseLike<VR | null>, timestamp: number): Promise<VR | null> {
    return this.#foundNow(await pending, timestamp);
  }
}
