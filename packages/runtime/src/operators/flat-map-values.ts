import type { RecordHeaders } from '@millrace/protocol';
import type { ValueMapper } from './map-values.ts';
import { isPromise } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/**
 * `flatMapValues`. Forwards a record for each value that the function returns, in its order; key,
 * timestamp and headers are those of the record read. A null value is put to it, too. An
 * asynchronous node further down holds up the values behind it.
 */
export class FlatMapValuesOperator<K, V, VR> extends ProcessorNode {
  readonly #mapper: ValueMapper<K, V, Iterable<VR>>;

  constructor(name: string, mapper: ValueMapper<K, V, Iterable<VR>>) {
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
    const values = this.#mapper(value as V, key as K);
    if (isPromise(values)) return this.#later(values, key, timestamp, headers);
    return this.#forwardAll(values[Symbol.iterator](), key, timestamp, headers);
  }

  #forwardAll(
    values: Iterator<VR>,
    key: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    for (let step = values.next(); step.done !== true; step = values.next()) {
      const outcome = this.children.forward(key, step.value ?? null, null, timestamp, headers);
      if (outcome !== undefined) return this.#forwardRest(outcome, values, key, timestamp, headers);
    }
    return undefined;
  }

  async #forwardRest(
    first: Promise<void>,
    values: Iterator<VR>,
    key: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await first;
    for (let step = values.next(); step.done !== true; step = values.next()) {
      await this.children.forward(key, step.value ?? null, null, timestamp, headers);
    }
  }

  async #later(
    pending: PromiseLike<Iterable<VR>>,
    key: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#forwardAll((await pending)[Symbol.iterator](), key, timestamp, headers);
  }
}
