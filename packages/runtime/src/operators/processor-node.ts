import type { RecordHeaders } from '@millrace/protocol';
import type { Outcome } from './outcome.ts';
import type { RecordTimes } from './record-times.ts';
import type { TaskContext } from './task-context.ts';

export type { Outcome } from './outcome.ts';

/** What is done about an error that a node threw (KIP-1033). */
export interface ProcessingFailures {
  /**
   * Returns if the record is to be left out at this node, and throws if processing has to end. A
   * promise is an asynchronous handler's, and the record waits for it.
   */
  failed(
    node: ProcessorNode,
    error: unknown,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome;
}

const rethrow: ProcessingFailures = {
  failed(_node, error) {
    throw error;
  },
};

/**
 * A node of a task's processor topology. Nodes call their children directly; a record is passed as
 * arguments, so that no object is made per record.
 *
 * `old` is the previous value in a table's change, and null in a stream. `isLatest` is false only for
 * a change that came too late to be a versioned table's current row (KIP-914); who passes a table's
 * change on passes it on, too. A node that forwards must return what its child returned, so that an
 * asynchronous user function further down holds up the task, in order. Nothing read from a store
 * cursor may be used after such a promise.
 */
export abstract class ProcessorNode {
  readonly name: string;
  readonly children: ProcessorNode[] = [];
  /** Where it notes the timestamps of the records that it had; null if nobody wants to know. */
  times: RecordTimes | null = null;
  #failures: ProcessingFailures = rethrow;

  constructor(name: string) {
    this.name = name;
  }

  /** Whether the node looks at values only to see if they are null, and passes none of them on. */
  get ignoresValues(): boolean {
    return false;
  }

  /** Once per task, before `init`: who decides about errors. Without it they go up as they are. */
  attach(failures: ProcessingFailures): void {
    this.#failures = failures;
  }

  /** Once per task, parents first, after the stores are open. */
  init(_context: TaskContext): void {}

  /** Right after `init`, and before that of the next node: what of it may be asynchronous. */
  start(): Outcome {
    return undefined;
  }

  abstract process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest?: boolean,
  ): Outcome;

  /** Once per task. A promise is waited for when the thread stops. */
  close(): unknown {
    return undefined;
  }

  /** `process`, with what this node throws brought before the handler; what a parent calls. */
  receive(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest: boolean,
  ): Outcome {
    let outcome: Outcome;
    try {
      outcome = this.process(key, value, old, timestamp, headers, isLatest);
    } catch (error) {
      return this.#failures.failed(this, error, key, value, timestamp, headers);
    }
    this.times?.add(timestamp);
    if (outcome === undefined) return undefined;
    return this.#failLater(outcome, key, value, timestamp, headers);
  }

  /** Calls the children in their order; with several, an asynchronous one is awaited before the next. */
  protected forward(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest = true,
  ): Outcome {
    const children = this.children;
    if (children.length === 1) {
      return (children[0] as ProcessorNode).receive(key, value, old, timestamp, headers, isLatest);
    }
    for (let i = 0; i < children.length; i++) {
      const child = children[i] as ProcessorNode;
      const outcome = child.receive(key, value, old, timestamp, headers, isLatest);
      if (outcome !== undefined) {
        return this.#forwardRest(outcome, i + 1, key, value, old, timestamp, headers, isLatest);
      }
    }
    return undefined;
  }

  async #failLater(
    outcome: Promise<void>,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    try {
      await outcome;
    } catch (error) {
      await this.#failures.failed(this, error, key, value, timestamp, headers);
    }
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
    for (let i = from; i < this.children.length; i++) {
      const child = this.children[i] as ProcessorNode;
      await child.receive(key, value, old, timestamp, headers, isLatest);
    }
  }
}
