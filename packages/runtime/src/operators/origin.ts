import type { Outcome } from './processor-node.ts';
import type { RecordOrigin, TaskContext } from './task-context.ts';

/** Sets the context's origin back to what it was, at once or when the nodes below are done. */
export function leaveOrigin(
  context: TaskContext,
  before: RecordOrigin | null,
  outcome: Outcome,
): Outcome {
  if (outcome === undefined) {
    context.origin = before;
    return undefined;
  }
  return outcome.finally(() => {
    context.origin = before;
  });
}
