import type { RecordHeaders } from '@millrace/protocol';
import type { TaskContext } from './task-context.ts';

/** `undefined`: done. A promise: this record, and only this record, is asynchronous. */
export type Outcome = Promise<void> | undefined;

/**
 * A node of a task's processor topology. Nodes call their children directly; a record is passed as
 * arguments, so that no object is made per record.
 *
 * `old` is the previous value in a table's change, and null in a stream. A node that forwards must
 * return what its child returned, so that an asynchronous user function further down holds up the
 * task, in order. Nothing read from a store cursor may be used after such a promise.
 */
export abstract class ProcessorNode {
  readonly name: string;
  readonly children: ProcessorNode[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Once per task, parents first, after the stores are open. */
  init(_context: TaskContext): void {}

  abstract process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome;

  /** Once per task; must not throw. */
  close(): void {}

  /** Calls the children in their order; with several, an asynchronous one is awaited before the next. */
  protected forward(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const children = this.children;
    if (children.length === 1) {
      return (children[0] as ProcessorNode).process(key, value, old, timestamp, headers);
    }
    for (let i = 0; i < children.length; i++) {
      const outcome = (children[i] as ProcessorNode).process(key, value, old, timestamp, headers);
      if (outcome !== undefined) {
        return this.#forwardRest(outcome, i + 1, key, value, old, timestamp, headers);
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
  ): Promise<void> {
    await first;
    for (let i = from; i < this.children.length; i++) {
      await (this.children[i] as ProcessorNode).process(key, value, old, timestamp, headers);
    }
  }
}
