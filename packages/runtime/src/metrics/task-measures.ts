import type { ProcessorNode } from '../operators/processor-node.ts';
import { RecordTimes } from '../operators/record-times.ts';
import { WindowedValues } from './windows.ts';

const NS_PER_MS = 1_000_000;

/** How old records are when a node has them, ms. */
export interface NodeLatency {
  readonly node: { readonly name: string };
  readonly latency: WindowedValues;
}

/** What is counted of a task beside its records. */
export class TaskMeasures {
  /** Of sources and of nodes without children. */
  readonly latencies: readonly (NodeLatency & { readonly times: RecordTimes })[];
  /** ns per record. */
  readonly processLatency = new WindowedValues();
  /** ns. */
  readonly punctuateLatency = new WindowedValues();
  /** ms, of each record; null while nobody wants to know. */
  lateness: WindowedValues | null = null;
  /** Time that the thread spent on it, ms. */
  processMs = 0;

  constructor(sources: Iterable<ProcessorNode>, nodes: Iterable<ProcessorNode>) {
    const measured = new Set(sources);
    for (const node of nodes) if (node.children.nodes.length === 0) measured.add(node);
    this.latencies = [...measured].map((node) => {
      const times = new RecordTimes();
      node.entry.times = times;
      return { node, times, latency: new WindowedValues() };
    });
  }

  /** The task had a turn, and has processed so many records. */
  tookTurn(tookMs: number, records: number): void {
    this.processMs += tookMs;
    if (records > 0) this.processLatency.record((tookMs * NS_PER_MS) / records);
  }

  punctuated(tookMs: number): void {
    this.punctuateLatency.record(tookMs * NS_PER_MS);
  }

  /** Takes in what nodes have noted; `nowMs` is the wall-clock time at which they had their records. */
  lookAtNodes(nowMs: number): void {
    for (const { times, latency } of this.latencies) {
      const { count } = times;
      if (count === 0) continue;
      latency.recordAll(count, count * nowMs - times.sum, nowMs - times.max, nowMs - times.min);
      times.forget();
    }
  }
}
