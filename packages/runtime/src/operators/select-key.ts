import type { RecordHeaders } from '@millrace/protocol';
import type { KeyValueMapper } from './map.ts';
import { isPromise } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/**
 * `selectKey`, also the first half of `groupBy`. Forwards one record per record under the key that
 * the function returns; value, timestamp and headers stay. Nulls are put to it, too; a null key that
 * it returns is dropped without a word where the stream is repartitioned.
 */
export class SelectKeyOperator<K, V, KR> extends ProcessorNode {
  readonly #mapper: KeyValueMapper<K, V, KR>;

  constructor(name: string, mapper: KeyValueMapper<K, V, KR>) {
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
    const selected = this.#mapper(key as K, value as V);
    if (isPromise(selected)) return this.#later(selected, value, timestamp, headers);
    return this.children.forward(selected ?? null, value, null, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<KR>,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.children.forward((await pending) ?? null, value, null, timestamp, headers);
  }
}
