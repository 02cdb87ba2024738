import type { Predicate } from '../operators/filter.ts';
import { BranchOperator, SplitOperator, type Branches } from '../operators/split.ts';
import { OperatorNode } from '../topology/graph-nodes.ts';
import { prefixes } from '../topology/naming.ts';
import type { NamedOptions } from './options.ts';
import { derive, type StreamState } from './stream-context.ts';
import type { Branch, BranchedKStream, BranchOptions, KStream } from './streams.ts';

/** See `BranchedKStream`. */
export class BranchedKStreamImpl<K, V, P extends string, B> implements BranchedKStream<K, V, P, B> {
  readonly #state: StreamState<K, V>;
  readonly #name: string;
  readonly #node: OperatorNode;
  readonly #branches: Branches = { predicates: [], names: [] };
  readonly #streams = new Map<string, unknown>();

  constructor(state: StreamState<K, V>, options: NamedOptions) {
    this.#state = state;
    this.#name = state.builder.naming.nodeName(options.name, prefixes.branch);
    // The node reads the branches when a task is made; by then all of them are there.
    this.#node = new OperatorNode(this.#name, (name) => new SplitOperator(name, this.#branches));
    state.builder.graph.add(this.#node, state.graphNode);
  }

  branch<N extends string, R>(
    predicate: Predicate<K, V>,
    options: BranchOptions<K, V, N, R> = {},
  ): BranchedKStream<K, V, P, B & Branch<P, N, R>> {
    this.#add(this.#branches.predicates.length + 1, options);
    this.#branches.predicates.push(predicate as Predicate<unknown, unknown>);
    return this as unknown as BranchedKStream<K, V, P, B & Branch<P, N, R>>;
  }

  defaultBranch<N extends string, R>(options: BranchOptions<K, V, N, R> = {}): B & Branch<P, N, R> {
    this.#add(0, options);
    return Object.fromEntries(this.#streams) as B & Branch<P, N, R>;
  }

  noDefaultBranch(): B {
    return Object.fromEntries(this.#streams) as B;
  }

  #add<N extends string, R>(index: number, options: BranchOptions<K, V, N, R>): void {
    const { builder, keySerde, valueSerde } = this.#state;
    const name = this.#name + (options.name ?? String(index));
    this.#branches.names.push(name);
    // Used up, as by every node.
    builder.naming.newNodeName(name);
    const node = new OperatorNode(name, (nodeName) => new BranchOperator(nodeName));
    const state = derive<K, V>({ ...this.#state, graphNode: this.#node }, node, {
      keySerde,
      valueSerde,
    });
    const stream: KStream<K, V> = builder.make.stream(state);
    const result: unknown = options.use === undefined ? stream : options.use(stream);
    if (result !== undefined && result !== null) this.#streams.set(name, result);
  }
}
