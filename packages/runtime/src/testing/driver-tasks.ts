import type { Outcome } from '../operators/processor-node.ts';
import type { StreamTask } from '../tasks/stream-task.ts';
import { unknownPartitionMetadata } from '../commit/offsets-metadata.ts';
import { topicPartitionKey } from '../client/ports.ts';

/** `next` at once after what is done, or when the promise is. */
export function andThen(outcome: Outcome, next: () => Outcome): Outcome {
  return outcome === undefined ? next() : outcome.then(next);
}

/** Calls `step` for each, one after the other; without a promise among them nothing is asynchronous. */
export function inTurn<T>(items: readonly T[], step: (item: T) => Outcome, from = 0): Outcome {
  for (let i = from; i < items.length; i++) {
    const outcome = step(items[i] as T);
    if (outcome !== undefined) return outcome.then(() => inTurn(items, step, i + 1));
  }
  return undefined;
}

/** Opens stores and starts nodes; there is nothing to restore. */
export function startTask(task: StreamTask): Outcome {
  task.initialize();
  const positions = task.inputs.map((input) => ({
    ...input,
    offset: 0n,
    committed: null,
    metadata: unknownPartitionMetadata,
  }));
  const ends = new Map(
    task.inputs.map(({ topic, partition }) => [topicPartitionKey(topic, partition), 0n]),
  );
  return task.start(positions, ends);
}

/** One record, if there is one, up to the end of all that it does within the task. */
export function processOne(task: StreamTask, nowMs: number): Outcome {
  task.process(1, nowMs);
  return settle(task, nowMs);
}

export function punctuateWallClock(task: StreamTask, nowMs: number): Outcome {
  task.punctuateWallClock(nowMs);
  return settle(task, nowMs);
}

/** Until nothing asynchronous is in hand; rejects with what it failed with. */
function settle(task: StreamTask, nowMs: number): Outcome {
  if (!task.hasRecordInHand) return undefined;
  return task.finishRecordInHand().then(() => {
    // No record, but a failure that was kept, or a punctuation that is due.
    task.process(0, nowMs);
    return settle(task, nowMs);
  });
}

/** What a commit does to a task, its caches first; what it says is committed is kept nowhere. */
export function commitTask(task: StreamTask): Outcome {
  return andThen(task.prepareCommit(), () => {
    task.postCommit(task.offsetsToCommit());
    return undefined;
  });
}

export function closeTask(task: StreamTask): Outcome {
  return task.close()?.then(() => undefined);
}
