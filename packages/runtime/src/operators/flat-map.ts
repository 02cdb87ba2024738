import type { RecordHeaders } from '@millrace/protocol';
import type { KeyValue, KeyValueMapper } from './map.ts';
import { isPromise } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/**
 * `flatMap`. Forwards a record for each pair that the function returns, in its order; timestamp and
 * headers are those of the record read. Nulls are put to it, too. An asynchronous node further down
 * holds up the pairs behind it.
 */
export class FlatMapOperator<K, V, KR, VR> extends ProcessorNode {
  readonly #mapper: KeyValueMapper<K, V, Iterable<KeyValue<KR, VR>>>;

  constructor(name: string, mapper: KeyValueMapper<K, V, Iterable<KeyValue<KR, VR>>>) {
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
    const pairs = this.#mapper(key as K, value as V);
    if (isPromise(pairs)) return this.#later(pairs, timestamp, headers);
    return this.#forwardAll(pairs[Symbol.iterator](), timestamp, headers);
  }

  #forwardAll(
    pairs: Iterator<KeyValue<KR, VR>>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    for (let step = pairs.next(); step.done !== true; step = pairs.next()) {
      const [key, value] = step.value;
      const outcome = this.children.forward(key ?? null, value ?? null, null, timestamp, headers);
      if (outcome !== undefined) return this.#forwardRest(outcome, pairs, timestamp, headers);
    }
    return undefined;
  }

  async #forwardRest(
    first: Promise<void>,
    pairs: Iterator<KeyValue<KR, VR>>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await first;
    for (let step = pairs.next(); step.done !== true; step = pairs.next()) {
      const [key, value] = step.value;
      await this.children.forward(key ?? null, value ?? null, null, timestamp, headers);
    }
  }

  async #later(
    pending: PromiseLike<Iterable<KeyValue<KR, VR>>>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#forwardAll((await pending)[Symbol.iterator](), timestamp, headers);
  }
}
