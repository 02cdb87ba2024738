import type { RecordHeaders } from '@millrace/protocol';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

export type ForeachAction<K, V> = (key: K, value: V) => Awaitable<unknown>;

/**
 * `peek` and `foreach`. Calls the function for each record, nulls included, and then, for `peek`,
 * forwards the record unchanged. What the function returns is waited for if it is a promise, and
 * otherwise ignored.
 */
export class PeekOperator<K, V> extends ProcessorNode {
  readonly #action: ForeachAction<K, V>;

  constructor(name: string, action: ForeachAction<K, V>) {
    super(name);
    this.#action = action;
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const result = this.#action(key as K, value as V);
    if (isPromise(result)) return this.#later(result, key, value, old, timestamp, headers);
    // `foreach` has no children, so this ends there.
    return this.children.forward(key, value, old, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<unknown>,
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await pending;
    await this.children.forward(key, value, old, timestamp, headers);
  }
}
