import type { RecordHeaders } from '@millrace/protocol';
import type { NodeEntry } from './node-entry.ts';
import type { Outcome } from './outcome.ts';

/** What is known of a node that has a place below another. */
interface ChildNode {
  readonly name: string;
  readonly entry: NodeEntry;
}

/** The nodes below a node, in the order in which they are given each record. */
export class Children<N extends ChildNode> {
  readonly #nodes: N[] = [];
  readonly #entries: NodeEntry[] = [];

  get nodes(): readonly N[] {
    return this.#nodes;
  }

  add(node: N): void {
    this.#nodes.push(node);
    this.#entries.push(node.entry);
  }

  named(name: string): N | undefined {
    return this.#nodes.find((node) => node.name === name);
  }

  /** Gives all of them the record; with several, an asynchronous one is awaited before the next. */
  forward(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest = true,
  ): Outcome {
    const entries = this.#entries;
    if (entries.length === 1) {
      return (entries[0] as NodeEntry).receive(key, value, old, timestamp, headers, isLatest);
    }
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as NodeEntry;
      const outcome = entry.receive(key, value, old, timestamp, headers, isLatest);
      if (outcome !== undefined) {
        return this.#forwardRest(outcome, i + 1, key, value, old, timestamp, headers, isLatest);
      }
    }
    return undefined;
  }

  async #forwardRest(
    first: Promise<void>,
    from: number,
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest: boolean,
  ): Promise<void> {
    await first;
    for (const entry of this.#entries.slice(from)) {
      await entry.receive(key, value, old, timestamp, headers, isLatest);
    }
  }
}
