import type { RecordHeaders } from '@millrace/protocol';
import { Children } from './children.ts';
import { NodeEntry, type ProcessingFailures, type RecipientNode } from './node-entry.ts';
import type { Outcome } from './outcome.ts';
import type { TaskContext } from './task-context.ts';

export type { Outcome } from './outcome.ts';

/**
 * A node of a task's processor topology. Nodes call their children directly; a record is passed as
 * arguments, so that no object is made per record.
 *
 * `old` is the previous value in a table's change, and null in a stream. `isLatest` is false only for
 * a change that came too late to be a versioned table's current row (KIP-914); who passes a table's
 * change on passes it on, too. A node that forwards must return what its children returned, so that an
 * asynchronous user function further down holds up the task, in order. Nothing read from a store
 * cursor may be used after such a promise.
 */
export abstract class ProcessorNode implements RecipientNode {
  readonly name: string;
  /** What a parent calls. */
  readonly entry = new NodeEntry(this);
  readonly children = new Children<ProcessorNode>();

  constructor(name: string) {
    this.name = name;
  }

  /** Whether the node looks at values only to see if they are null, and passes none of them on. */
  get ignoresValues(): boolean {
    return false;
  }

  /** Once per task, before `init`: who decides about errors. Without it they go up as they are. */
  attach(failures: ProcessingFailures): void {
    this.entry.failures = failures;
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
}
