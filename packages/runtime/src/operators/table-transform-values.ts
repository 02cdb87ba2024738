import type { RecordHeaders } from '@millrace/protocol';
import { TopologyError } from '../errors.ts';
import { DerivedGetter, DerivedTable, DerivedTableOperator } from './derived-table.ts';
import { inOrder, isPromise, outcomeOf, type Awaitable, type Outcome } from './outcome.ts';
import type { ProcessingContext } from './processor-api.ts';
import type { Punctuator } from './punctuation.ts';
import type { TableSource, TableView, ValueGetter } from './table.ts';
import type { TaskContext } from './task-context.ts';
import { UserContext, type StoreUser, type UserNode } from './user-context.ts';

/** What a transformer may ask of its task. */
export interface TransformerContext extends ProcessingContext {
  /** Of the change in hand, epoch ms; of the row, if an operator reads a table that is not stored. */
  readonly timestamp: number;
  /** Of the change in hand; null if it has none. */
  readonly headers: RecordHeaders | null;
}

/**
 * Makes a table's values, with the help of state stores (Kafka Streams' ValueTransformerWithKey). It
 * forwards nothing by itself. Every method may be asynchronous.
 */
export interface ValueTransformer<K, V, VR> {
  /** Once, before the first value. */
  init?(context: TransformerContext): Awaitable<unknown>;
  /** Is given null for a deleted row, too; null as a result deletes. */
  transform(value: V | null, key: K): Awaitable<VR | null>;
  /** Once, when the task is given up. */
  close?(): Awaitable<unknown>;
}

/** Makes one per task, and another for each operator that reads the table, if it is not stored. */
export type ValueTransformerSupplier<K, V, VR> = () => ValueTransformer<K, V, VR>;

/** What a table of transformed values is to other operators. */
export class TransformedTable<K, V, VR> extends DerivedTable<K, V, VR> {
  readonly #name: string;
  readonly #usesStores: boolean;

  /**
   * @param name of the operator's node
   * @param usesStores the transformers have state stores
   */
  constructor(
    name: string,
    parent: TableSource<K, V>,
    supplier: ValueTransformerSupplier<K, V, VR>,
    storeName: string | null,
    usesStores: boolean,
  ) {
    super(parent, storeName, (getter) => {
      return new TransformingGetter(getter, new TransformerHost(name, supplier()));
    });
    this.#name = name;
    this.#usesStores = usesStores;
  }

  override view(): TableView<K, VR> {
    if (this.storeName === null && this.#usesStores) {
      throw new TopologyError(
        `The table ${this.#name} of transformValues() is read by another operator, which would call its transformer ` +
          'without its state stores: store the table, by giving transformValues() the option "store".',
      );
    }
    return super.view();
  }
}

/** A transformer with the context that it is given. */
class TransformerHost<K, V, VR> implements UserNode {
  readonly name: string;
  readonly #transformer: ValueTransformer<K, V, VR>;
  stores: ReadonlySet<string> = new Set();
  isActive = false;
  /** Of the change, or, while another operator reads the table, of the row. */
  recordTimestamp = -1;
  recordHeaders: RecordHeaders | null = null;

  constructor(name: string, transformer: ValueTransformer<K, V, VR>) {
    this.name = name;
    this.#transformer = transformer;
  }

  start(task: TaskContext): Outcome {
    const context = new HostContext(this, task, this.stores);
    return inOrder(outcomeOf(this.#transformer.init?.(context)), () => {
      this.isActive = true;
      return undefined;
    });
  }

  punctuate(punctuator: Punctuator, timestamp: number): Outcome {
    this.recordTimestamp = timestamp;
    this.recordHeaders = null;
    return outcomeOf(punctuator(timestamp));
  }

  transform(key: K, value: V | null): Awaitable<VR | null> {
    const result = this.#transformer.transform(value, key);
    return isPromise(result) ? orNull(result) : (result ?? null);
  }

  close(): Outcome {
    return outcomeOf(this.#transformer.close?.());
  }
}

class HostContext extends UserContext implements TransformerContext {
  readonly #host: TransformerHost<unknown, unknown, unknown>;

  constructor(
    host: TransformerHost<unknown, unknown, unknown>,
    task: TaskContext,
    stores: ReadonlySet<string>,
  ) {
    super(host, task, stores);
    this.#host = host;
  }

  get timestamp(): number {
    return this.#host.recordTimestamp;
  }

  get headers(): RecordHeaders | null {
    return this.#host.recordHeaders;
  }
}

async function orNull<T>(pending: PromiseLike<T | null>): Promise<T | null> {
  return (await pending) ?? null;
}

class TransformingGetter<K, V, VR> extends DerivedGetter<K, V, VR> {
  readonly #host: TransformerHost<K, V, VR>;
  #task: TaskContext | null = null;

  constructor(parent: ValueGetter<K, V>, host: TransformerHost<K, V, VR>) {
    super(parent, (key, value) => {
      host.recordTimestamp = parent.foundTimestamp;
      return host.transform(key, value);
    });
    this.#host = host;
  }

  override init(context: TaskContext): void {
    super.init(context);
    this.#task = context;
  }

  override start(): Outcome {
    return inOrder(super.start(), () => this.#host.start(this.#task as TaskContext));
  }

  override close(): unknown {
    return inOrder(outcomeOf(super.close()), () => this.#host.close());
  }
}

/**
 * `transformValues` of a table. Forwards each change with the value that the transformer returns for
 * its new one, tombstones included: it is called with null then. Key, timestamp and headers stay.
 * Without a store of its own the transformer is called again for the old value if somebody below
 * asked for it; operators that read the table have a transformer each, called at each
 * read; transformers with state stores therefore need a stored table to be read.
 */
export class TableTransformValuesOperator<K, V, VR>
  extends DerivedTableOperator<K, V, VR>
  implements StoreUser
{
  readonly #host: TransformerHost<K, V, VR>;
  #task: TaskContext | null = null;

  constructor(
    name: string,
    table: TransformedTable<K, V, VR>,
    transformer: ValueTransformer<K, V, VR>,
  ) {
    const host = new TransformerHost(name, transformer);
    super(name, table, (key, value) => host.transform(key, value));
    this.#host = host;
  }

  connect(stores: ReadonlySet<string>): void {
    this.#host.stores = stores;
  }

  override init(context: TaskContext): void {
    this.#task = context;
    super.init(context);
  }

  override start(): Outcome {
    return this.#host.start(this.#task as TaskContext);
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest?: boolean,
  ): Outcome {
    this.#host.recordTimestamp = timestamp;
    this.#host.recordHeaders = headers;
    return super.process(key, value, old, timestamp, headers, isLatest);
  }

  override close(): unknown {
    return this.#host.close();
  }
}
