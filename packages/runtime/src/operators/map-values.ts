import type { RecordHeaders } from '@millrace/protocol';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

export type ValueMapper<K, V, R> = (value: V, key: K) => Awaitable<R>;

/**
 * `mapValues` of a stream. Forwards one record per record, with the value that the function returns;
 * key, timestamp and headers stay. A null value is put to it, too, and it may return null.
 */
export class MapValuesOperator<K, V, VR> extends ProcessorNode {
  readonly #mapper: ValueMapper<K, V, VR>;

  constructor(name: string, mapper: ValueMapper<K, V, VR>) {
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
    const mapped = this.#mapper(value as V, key as K);
    if (isPromise(mapped)) return this.#later(mapped, key, timestamp, headers);
    return this.children.forward(key, mapped ?? null, null, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<VR>,
    key: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.children.forward(key, (await pending) ?? null, null, timestamp, headers);
  }
}
