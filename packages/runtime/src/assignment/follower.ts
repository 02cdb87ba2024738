import type { MemberAssignment, TopicPartition } from '../client/ports.ts';
import {
  ApplicationShutdownError,
  MisconfiguredTopicError,
  MissingSourceTopicError,
} from '../errors.ts';
import type { TaskId } from '../operators/task-context.ts';
import type { TaskName } from '../tasks/task-id.ts';
import { taskName } from '../tasks/task-id.ts';
import type { BuiltTopology } from '../topology/built-topology.ts';
import { assignmentErrorCodes, decodeAssignment } from './subscription.ts';

export type AssignedTasks = ReadonlyMap<
  TaskName,
  { readonly id: TaskId; readonly inputs: readonly TopicPartition[] }
>;

/** A member's own tasks and their input partitions. Throws what the leader could not do. */
export function readAssignment(
  topology: BuiltTopology,
  assignment: MemberAssignment,
): AssignedTasks {
  const data = decodeAssignment(assignment.userData);
  if (data.error === assignmentErrorCodes.missingSourceTopic) {
    throw new MissingSourceTopicError(data.errorMessage);
  }
  if (data.error === assignmentErrorCodes.misconfiguredTopic) {
    throw new MisconfiguredTopicError(data.errorMessage);
  }
  if (data.error === assignmentErrorCodes.applicationShutdown) {
    throw new ApplicationShutdownError(data.errorMessage);
  }
  const topics = new Map(topology.subtopologies.map((s) => [s.id, new Set(s.sourceTopics)]));
  return new Map(
    data.activeTasks.map((id) => [
      taskName(id),
      {
        id,
        inputs: assignment.partitions.filter(
          ({ topic, partition }) =>
            partition === id.partition && topics.get(id.subtopology)?.has(topic) === true,
        ),
      },
    ]),
  );
}
