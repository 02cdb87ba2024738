import type { ProcessorNode } from './processor-node.ts';

/**
 * How long each node takes for itself, without the nodes below, up to where it returns: the time for
 * which it holds up the event loop. Costs nothing before it is attached, and two looks at the clock per
 * node and record from then on.
 */
export class NodeStopwatch {
  readonly #now: () => number;
  readonly #tookMs = new Map<string, number>();
  /** Of each node that was entered and has not returned: when, and how long those below took. */
  readonly #sinceMs: number[] = [];
  readonly #belowMs: number[] = [];

  /** @param now ms, on the monotonic clock */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** For good: a node has no other way to be entered from here on. */
  attach(nodes: readonly ProcessorNode[]): void {
    for (const { name, entry } of nodes) {
      const receive = entry.receive.bind(entry);
      entry.receive = (key, value, old, timestamp, headers, isLatest) => {
        this.#sinceMs.push(this.#now());
        this.#belowMs.push(0);
        try {
          return receive(key, value, old, timestamp, headers, isLatest);
        } finally {
          this.#left(name);
        }
      };
    }
  }

  /** The node that took longest since `reset`; null if none was entered. */
  get slowest(): { readonly node: string; readonly ms: number } | null {
    let slowest: { node: string; ms: number } | null = null;
    for (const [node, ms] of this.#tookMs) {
      if (slowest === null || ms > slowest.ms) slowest = { node, ms };
    }
    return slowest;
  }

  reset(): void {
    this.#tookMs.clear();
  }

  #left(name: string): void {
    const tookMs = this.#now() - (this.#sinceMs.pop() ?? 0);
    const ownMs = tookMs - (this.#belowMs.pop() ?? 0);
    this.#tookMs.set(name, (this.#tookMs.get(name) ?? 0) + ownMs);
    const above = this.#belowMs.length - 1;
    if (above >= 0) this.#belowMs[above] = (this.#belowMs[above] ?? 0) + tookMs;
  }
}
