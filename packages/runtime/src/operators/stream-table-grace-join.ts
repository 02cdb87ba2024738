import type { RecordHeaders } from '@millrace/protocol';
import type { BufferedRecord } from '../state/buffer/buffered-record.ts';
import type { RecordBuffer } from '../state/buffer/record-buffer.ts';
import { leaveOrigin } from './origin.ts';
import type { Outcome } from './processor-node.ts';
import { StreamTableJoinOperator, type ValueJoiner } from './stream-table-join.ts';
import type { TableView } from './table.ts';
import type { TaskContext } from './task-context.ts';

/**
 * Join of a stream with a versioned table, with a grace period (KIP-923). A record of the stream waits
 * until stream time has gone on by the grace period since its timestamp, and is then joined with the
 * row that was current at that timestamp: rows that came late in the meantime count. Stream time is
 * the highest timestamp of the stream's records at this operator; only such a record lets others go.
 *
 * Records are let go in the order of timestamp, key bytes and arrival, each with its own timestamp,
 * headers, topic, partition and offset. One whose time has gone by when it comes is joined at once.
 * Null keys and values are treated as without a grace period, at once: a left join joins a null key
 * with null (where Kafka Streams 4.4 fails).
 */
export class StreamTableGraceJoinOperator<K, L, R, VR> extends StreamTableJoinOperator<
  K,
  L,
  R,
  VR
> {
  readonly #storeName: string;
  #buffer: RecordBuffer<K, L> | null = null;
  #taskContext: TaskContext | null = null;

  constructor(
    name: string,
    view: TableView<K, R>,
    joiner: ValueJoiner<K, L, R | null, VR>,
    isLeft: boolean,
    storeName: string,
  ) {
    super(name, view, joiner, isLeft);
    this.#storeName = storeName;
  }

  override init(context: TaskContext): void {
    super.init(context);
    this.#taskContext = context;
    this.#buffer = context.store(this.#storeName) as unknown as RecordBuffer<K, L>;
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    if (key === null || value === null) return super.process(key, value, old, timestamp, headers);
    const context = this.#taskContext as TaskContext;
    const buffer = this.#buffer as RecordBuffer<K, L>;
    const { topic, partition } = context;
    const isKept = buffer.put(
      key as K,
      value as L,
      timestamp,
      headers,
      topic,
      partition,
      context.offset(),
    );
    if (!isKept) return super.process(key, value, old, timestamp, headers);
    return this.#letGo();
  }

  #letGo(): Outcome {
    const buffer = this.#buffer as RecordBuffer<K, L>;
    for (let record = buffer.due; record !== undefined; record = buffer.due) {
      const outcome = this.#joinKept(record);
      if (outcome !== undefined) return this.#goOn(outcome, record);
      buffer.remove(record);
    }
    return undefined;
  }

  async #goOn(joined: Promise<void>, record: BufferedRecord): Promise<void> {
    await joined;
    (this.#buffer as RecordBuffer<K, L>).remove(record);
    await this.#letGo();
  }

  #joinKept(record: BufferedRecord): Outcome {
    const context = this.#taskContext as TaskContext;
    const buffer = this.#buffer as RecordBuffer<K, L>;
    const key = buffer.keyOf(record);
    const value = buffer.valueOf(record);
    const before = context.origin;
    context.origin = record;
    let outcome: Outcome;
    try {
      outcome = super.process(key, value, null, record.timestamp, record.headers);
    } catch (error) {
      context.origin = before;
      throw error;
    }
    return leaveOrigin(context, before, outcome);
  }
}
