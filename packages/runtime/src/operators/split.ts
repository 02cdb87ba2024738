import type { RecordHeaders } from '@millrace/protocol';
import type { Predicate } from './filter.ts';
import { isPromise } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/** Which records go to which branch; grows while the DSL adds branches. */
export interface Branches {
  readonly predicates: Predicate<unknown, unknown>[];
  /** Names of the branches' nodes; one more than predicates if there is a default branch. */
  readonly names: string[];
}

/**
 * `split`. Each record goes unchanged to the first branch whose predicate says true, else to the
 * default branch; without one it is left out, and not counted as dropped. Nulls are put to the
 * predicates, too. Predicates after the one that says true are not asked.
 */
export class SplitOperator extends ProcessorNode {
  readonly #predicates: readonly Predicate<unknown, unknown>[];
  readonly #names: readonly string[];
  #branches: readonly ProcessorNode[] = [];

  constructor(name: string, { predicates, names }: Branches) {
    super(name);
    this.#predicates = predicates;
    this.#names = names;
  }

  override init(): void {
    this.#branches = this.#names.map((name) => this.children.named(name) as ProcessorNode);
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    return this.#choose(0, key, value, old, timestamp, headers);
  }

  #choose(
    from: number,
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const predicates = this.#predicates;
    let index = from;
    for (; index < predicates.length; index++) {
      const isThis = (predicates[index] as Predicate<unknown, unknown>)(key, value);
      if (isPromise(isThis)) {
        return this.#chooseLater(isThis, index, key, value, old, timestamp, headers);
      }
      if (isThis) break;
    }
    const branch = this.#branches[index];
    if (branch === undefined) return undefined;
    return branch.entry.receive(key, value, old, timestamp, headers, true);
  }

  async #chooseLater(
    pending: PromiseLike<boolean>,
    index: number,
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    const branch = (await pending) ? this.#branches[index] : undefined;
    if (branch !== undefined) await branch.entry.receive(key, value, old, timestamp, headers, true);
    else await this.#choose(index + 1, key, value, old, timestamp, headers);
  }
}

/** The node of one branch. Forwards every record unchanged. */
export class BranchOperator extends ProcessorNode {
  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    return this.children.forward(key, value, old, timestamp, headers);
  }
}
