import type { RecordHeaders } from '@millrace/protocol';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/** A key and a value in one: what `map` and `flatMap` return. */
export type KeyValue<K, V> = readonly [key: K, value: V];
export type KeyValueMapper<K, V, R> = (key: K, value: V) => Awaitable<R>;

/**
 * `map`. Forwards one record per record, with the key and value that the function returns; timestamp
 * and headers stay. Null keys and values are put to it, too, and it may return them.
 */
export class MapOperator<K, V, KR, VR> extends ProcessorNode {
  readonly #mapper: KeyValueMapper<K, V, KeyValue<KR, VR>>;

  constructor(name: string, mapper: KeyValueMapper<K, V, KeyValue<KR, VR>>) {
    super(name);
    this.#mapper = mapper;
  }

  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const mapped = this.#mapper(key as K, value as V);
    if (isPromise(mapped)) return this.#later(mapped, timestamp, headers);
    return this.children.forward(mapped[0] ?? null, mapped[1] ?? null, null, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<KeyValue<KR, VR>>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    const mapped = await pending;
    await this.children.forward(mapped[0] ?? null, mapped[1] ?? null, null, timestamp, headers);
  }
}
