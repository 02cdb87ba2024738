import type { RecordHeaders } from '@millrace/protocol';
import type { TaskContext } from './task-context.ts';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import type { TableView, ValueGetter } from './table.ts';

export type ValueJoiner<K, L, R, VR> = (left: L, right: R, key: K) => Awaitable<VR>;

/**
 * Join of a stream with a table, inner and left. Only a record of the stream gives output: the
 * joiner's result for it and the table's row as it is now (of a versioned table: as it was at the
 * record's time), with the record's key, timestamp and headers. Inner: no output without a row; a null key is dropped and counted. Left: the joiner gets
 * null where there is no row or no key. A null value is dropped and counted by both.
 */
export class StreamTableJoinOperator<K, L, R, VR> extends ProcessorNode {
  readonly #getter: ValueGetter<K, R>;
  readonly #joiner: ValueJoiner<K, L, R | null, VR>;
  readonly #isLeft: boolean;
  #context: TaskContext | null = null;

  constructor(
    name: string,
    view: TableView<K, R>,
    joiner: ValueJoiner<K, L, R | null, VR>,
    isLeft: boolean,
  ) {
    super(name);
    this.#getter = view.create();
    this.#joiner = joiner;
    this.#isLeft = isLeft;
  }

  override init(context: TaskContext): void {
    this.#context = context;
    this.#getter.init(context);
  }

  override start(): Outcome {
    return this.#getter.start?.();
  }

  override close(): unknown {
    return this.#getter.close?.();
  }

  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (value === null || (key === null && !this.#isLeft)) {
      this.#context?.recordDropped(this.name, 'its key or value is null', headers);
      return undefined;
    }
    const row = key === null ? null : this.#row(key as K, timestamp);
    if (isPromise(row)) return this.#joinLater(row, key as K, value as L, timestamp, headers);
    return this.#join(row, key as K, value as L, timestamp, headers);
  }

  #row(key: K, timestamp: number): Awaitable<R | null> {
    const getter = this.#getter;
    return getter.isVersioned ? getter.getAsOf(key, timestamp) : getter.get(key);
  }

  #join(
    row: R | null,
    key: K,
    value: L,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (row === null && !this.#isLeft) return undefined;
    const joined = this.#joiner(value, row, key);
    if (isPromise(joined)) return this.#forwardLater(joined, key, timestamp, headers);
    return this.children.forward(key, joined ?? null, null, timestamp, headers);
  }

  async #joinLater(
    pending: PromiseLike<R | null>,
    key: K,
    value: L,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#join(await pending, key, value, timestamp, headers);
  }

  async #forwardLater(
    pending: PromiseLike<VR>,
    key: K,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.children.forward(key, (await pending) ?? null, null, timestamp, headers);
  }
}
