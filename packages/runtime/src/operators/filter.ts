import type { RecordHeaders } from '@millrace/protocol';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

export type Predicate<K, V> = (key: K, value: V) => Awaitable<boolean>;
/** Predicates that also say of which type what they let through is. */
export type ValueGuard<K, V, VR extends V> = (key: K, value: V) => value is VR;
export type KeyGuard<K, V, KR extends K> = (key: K, value: V) => key is KR;

/**
 * `filter` and `filterNot` of a stream. Forwards the record unchanged if the predicate says true
 * (`filterNot`: false); as in JavaScript, what is truthy counts as true. Null keys and values are put to it, too.
 */
export class FilterOperator<K, V> extends ProcessorNode {
  readonly #predicate: Predicate<K, V>;
  readonly #wanted: boolean;

  constructor(name: string, predicate: Predicate<K, V>, isNegated: boolean) {
    super(name);
    this.#predicate = predicate;
    this.#wanted = !isNegated;
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const verdict = this.#predicate(key as K, value as V);
    if (isPromise(verdict)) return this.#later(verdict, key, value, old, timestamp, headers);
    if (verdict ? !this.#wanted : this.#wanted) return undefined;
    return this.children.forward(key, value, old, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<boolean>,
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    if ((await pending) ? !this.#wanted : this.#wanted) return;
    await this.children.forward(key, value, old, timestamp, headers);
  }
}
