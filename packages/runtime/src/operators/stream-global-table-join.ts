import type { RecordHeaders } from '@millrace/protocol';
import type { KeyValueMapper } from './map.ts';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import type { TableView, ValueGetter } from './table.ts';
import type { TaskContext } from './task-context.ts';

/** `key` is the stream's, `mappedKey` the one that the row was looked for under (KIP-1340). */
export type GlobalValueJoiner<K, L, GK, R, VR> = (
  left: L,
  right: R,
  key: K,
  mappedKey: GK,
) => Awaitable<VR>;

/**
 * Join of a stream with a global table, inner and left. The key mapper says for each record of the
 * stream under which key the table is asked; the joiner's result is forwarded with the record's own
 * key, which may be null, its timestamp and headers. The table is read as it is now: it is not kept in
 * step with the stream's time, and its changes give no output. Inner: no output without a row; a
 * mapped key of null drops the record and counts it. Left: the joiner gets null where there is no row,
 * or where the mapped key is null. A null value is dropped and counted by both.
 */
export class StreamGlobalTableJoinOperator<K, L, GK, R, VR> extends ProcessorNode {
  readonly #getter: ValueGetter<GK, R>;
  readonly #keyMapper: KeyValueMapper<K, L, GK | null>;
  readonly #joiner: GlobalValueJoiner<K, L, GK, R | null, VR>;
  readonly #isLeft: boolean;
  #context: TaskContext | null = null;

  constructor(
    name: string,
    view: TableView<GK, R>,
    keyMapper: KeyValueMapper<K, L, GK | null>,
    joiner: GlobalValueJoiner<K, L, GK, R | null, VR>,
    isLeft: boolean,
  ) {
    super(name);
    this.#getter = view.create();
    this.#keyMapper = keyMapper;
    this.#joiner = joiner;
    this.#isLeft = isLeft;
  }

  override init(context: TaskContext): void {
    this.#context = context;
    this.#getter.init(context);
  }

  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    // As in Kafka Streams, the mapper is asked about null values, too.
    const mapped = this.#keyMapper(key as K, value as L);
    if (isPromise(mapped)) return this.#lookUpLater(mapped, key, value, timestamp, headers);
    return this.#lookUp(mapped ?? null, key, value, timestamp, headers);
  }

  #lookUp(
    mapped: GK | null,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (value === null || (mapped === null && !this.#isLeft)) {
      this.#context?.recordDropped(this.name, 'its mapped key or value is null', headers);
      return undefined;
    }
    const row = mapped === null ? null : this.#getter.get(mapped);
    if (isPromise(row)) {
      return this.#joinLater(row, mapped, key as K, value as L, timestamp, headers);
    }
    return this.#join(row, mapped, key as K, value as L, timestamp, headers);
  }

  #join(
    row: R | null,
    mapped: GK | null,
    key: K,
    value: L,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (row === null && !this.#isLeft) return undefined;
    // Without a mapped key, the joiner of a left join is told null.
    const joined = this.#joiner(value, row, key, mapped as GK);
    if (isPromise(joined)) return this.#forwardLater(joined, key, timestamp, headers);
    return this.children.forward(key, joined ?? null, null, timestamp, headers);
  }

  async #lookUpLater(
    pending: PromiseLike<GK | null>,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#lookUp((await pending) ?? null, key, value, timestamp, headers);
  }

  async #joinLater(
    pending: PromiseLike<R | null>,
    mapped: GK | null,
    key: K,
    value: L,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#join(await pending, mapped, key, value, timestamp, headers);
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
