import { DerivedGetter, DerivedTable, DerivedTableOperator } from './derived-table.ts';
import { isPromise, type Awaitable } from './outcome.ts';
import type { TableSource, ValueGetter } from './table.ts';
import type { TaskContext } from './task-context.ts';

/** Makes a table's values, with the help of state stores (Kafka Streams' ValueTransformerWithKey). */
export interface ValueTransformer<K, V, VR> {
  /** Once, before the first value. */
  init?(context: TaskContext): void;
  /** Is given null for a deleted row, too; null as a result deletes. */
  transform(value: V | null, key: K): Awaitable<VR | null>;
  close?(): void;
}

/** Makes one per task, and another for each operator that reads the table, if it is not stored. */
export type ValueTransformerSupplier<K, V, VR> = () => ValueTransformer<K, V, VR>;

/** What a table of transformed values is to other operators. */
export class TransformedTable<K, V, VR> extends DerivedTable<K, V, VR> {
  constructor(
    parent: TableSource<K, V>,
    supplier: ValueTransformerSupplier<K, V, VR>,
    storeName: string | null,
  ) {
    super(parent, storeName, (getter) => new TransformingGetter(getter, supplier()));
  }
}

class TransformingGetter<K, V, VR> extends DerivedGetter<K, V, VR> {
  readonly #transformer: ValueTransformer<K, V, VR>;

  constructor(parent: ValueGetter<K, V>, transformer: ValueTransformer<K, V, VR>) {
    super(parent, (key, value) => transformed(transformer, key, value));
    this.#transformer = transformer;
  }

  override init(context: TaskContext): void {
    super.init(context);
    this.#transformer.init?.(context);
  }

  override close(): void {
    super.close();
    this.#transformer.close?.();
  }
}

function transformed<K, V, VR>(
  transformer: ValueTransformer<K, V, VR>,
  key: K,
  value: V | null,
): Awaitable<VR | null> {
  const result = transformer.transform(value, key);
  return isPromise(result) ? orNull(result) : (result ?? null);
}

async function orNull<T>(pending: PromiseLike<T | null>): Promise<T | null> {
  return (await pending) ?? null;
}

/**
 * `transformValues` of a table. Forwards each change with the value that the transformer returns for
 * its new one, tombstones included: it is called with null then. Key, timestamp and headers stay.
 * Without a store of its own the transformer is called again for the old value if somebody below
 * asked for it; operators that read the table have a transformer each.
 */
export class TableTransformValuesOperator<K, V, VR> extends DerivedTableOperator<K, V, VR> {
  readonly #transformer: ValueTransformer<K, V, VR>;

  constructor(
    name: string,
    table: TransformedTable<K, V, VR>,
    transformer: ValueTransformer<K, V, VR>,
  ) {
    super(name, table, (key, value) => transformed(transformer, key, value));
    this.#transformer = transformer;
  }

  override init(context: TaskContext): void {
    this.#transformer.init?.(context);
    super.init(context);
  }

  override close(): void {
    this.#transformer.close?.();
  }
}
