import type { Logger } from 'pino';
import { BLOCKED_LOOP_MS, BLOCKED_LOOP_REPORT_INTERVAL_MS } from '../limits.ts';
import { NodeStopwatch } from '../operators/node-stopwatch.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import type { Clock } from '../platform/clock.ts';

export interface BlockedLoopOptions {
  /** Of the task. */
  readonly nodes: () => readonly ProcessorNode[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The queue of the record that a turn ended with. */
interface LastQueue {
  readonly topic: string;
  readonly partition: number;
  readonly committableOffset: bigint;
}

/**
 * Reports synchronous functions that hold up the event loop for longer than a second: heartbeats, sockets
 * and timers of the whole process wait for them, and the group may take the member for dead. Nodes are
 * not timed before a task has done so once, because that would cost each record; so the first report
 * names the task and where its turn ended, and every later one the node. A punctuator's node is
 * known at once.
 */
export class BlockedLoop {
  readonly #options: BlockedLoopOptions;
  #stopwatch: NodeStopwatch | null = null;
  #turnStartMs = 0;
  #hasNamedNode = false;
  #reportedAtMs = -Infinity;
  #unreportedCount = 0;

  constructor(options: BlockedLoopOptions) {
    this.#options = options;
  }

  turnBegins(): void {
    this.#stopwatch?.reset();
    this.#turnStartMs = this.#options.clock.monotonicMs();
  }

  /** With its last record out of that queue; null if something else came after it. */
  turnEnds(recordCount: number, last: LastQueue | null): void {
    const blockedMs = this.#options.clock.monotonicMs() - this.#turnStartMs;
    if (blockedMs < BLOCKED_LOOP_MS) return;
    const slowest = this.#stopwatch?.slowest ?? null;
    const place = {
      records: recordCount,
      topic: last?.topic ?? null,
      partition: last?.partition ?? -1,
      nextOffset: last?.committableOffset.toString() ?? null,
    };
    if (slowest === null) this.#report(null, blockedMs, place);
    else this.#report(slowest.node, blockedMs, { ...place, nodeMs: Math.round(slowest.ms) });
    if (this.#stopwatch !== null) return;
    this.#stopwatch = new NodeStopwatch(() => this.#options.clock.monotonicMs());
    this.#stopwatch.attach(this.#options.nodes());
  }

  /** A punctuator returned, or threw. */
  punctuated(node: string, tookMs: number): void {
    if (tookMs >= BLOCKED_LOOP_MS) this.#report(node, tookMs, { punctuator: true });
  }

  #report(node: string | null, blockedMs: number, fields: object): void {
    const { clock, logger } = this.#options;
    const nowMs = clock.monotonicMs();
    // The first one that names a node is always worth a line.
    const isNews = node !== null && !this.#hasNamedNode;
    if (!isNews && nowMs - this.#reportedAtMs < BLOCKED_LOOP_REPORT_INTERVAL_MS) {
      this.#unreportedCount++;
      return;
    }
    logger.warn(
      {
        node: node ?? 'not known yet: the next time it will be',
        blockedMs: Math.round(blockedMs),
        ...fields,
        unreported: this.#unreportedCount,
      },
      'a synchronous function has held up the event loop, and with it heartbeats and connections: make it asynchronous, or do less at once',
    );
    this.#hasNamedNode ||= node !== null;
    this.#reportedAtMs = nowMs;
    this.#unreportedCount = 0;
  }
}
