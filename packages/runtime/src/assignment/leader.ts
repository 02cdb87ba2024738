import type { MemberAssignment, MemberSubscription, TopicPartition } from '../client/ports.ts';
import { MisconfiguredTopicError, MissingSourceTopicError } from '../errors.ts';
import type { TaskId } from '../operators/task-context.ts';
import type { BuiltTopology } from '../topology/built-topology.ts';
import { assignTasks } from './assignor.ts';
import type { PartitionCounts } from './partition-counts.ts';
import { taskCount } from './partition-counts.ts';
import type { AssignmentErrorCode } from './subscription.ts';
import { assignmentErrorCodes, decodeSubscription, encodeAssignment } from './subscription.ts';

/** Before an assignment: all topics are there, and what sources by pattern read is known. */
export interface TopicsReady {
  readonly topology: BuiltTopology;
  readonly counts: PartitionCounts;
}

/**
 * The leader's part of a rebalance. What makes an assignment impossible, and only people can mend, is
 * sent to every member, so that each of them stops with the same words.
 */
export async function assignAsLeader(
  members: readonly MemberSubscription[],
  ensureTopics: () => Promise<TopicsReady>,
): Promise<Map<string, MemberAssignment>> {
  const subscriptions = members.map(({ memberId, userData }) => ({
    memberId,
    ...decodeSubscription(userData),
  }));
  for (const { shutdownReason = null } of subscriptions) {
    if (shutdownReason === null) continue;
    return refuse(members, assignmentErrorCodes.applicationShutdown, shutdownReason);
  }
  let ready: TopicsReady;
  try {
    ready = await ensureTopics();
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    return refuse(members, code, (error as Error).message);
  }
  const { topology, counts } = ready;
  const assignment = new Map<string, MemberAssignment>();
  for (const [memberId, tasks] of assignTasks(allTasks(topology, counts), subscriptions)) {
    assignment.set(memberId, {
      partitions: inputPartitions(topology, counts, tasks),
      userData: encodeAssignment({
        error: assignmentErrorCodes.none,
        errorMessage: '',
        activeTasks: tasks,
        sourceTopics: sourceTopicsOf(topology, tasks),
      }),
    });
  }
  return assignment;
}

function allTasks(topology: BuiltTopology, counts: PartitionCounts): TaskId[] {
  return topology.subtopologies.flatMap((subtopology) =>
    Array.from({ length: taskCount(subtopology, counts) }, (_, partition) => ({
      subtopology: subtopology.id,
      partition,
    })),
  );
}

/** A task has its partition of each source topic that has so many. */
function inputPartitions(
  topology: BuiltTopology,
  counts: PartitionCounts,
  tasks: readonly TaskId[],
): TopicPartition[] {
  const topics = new Map(topology.subtopologies.map((s) => [s.id, s.sourceTopics]));
  return tasks.flatMap(({ subtopology, partition }) =>
    (topics.get(subtopology) ?? [])
      .filter((topic) => (counts.get(topic) ?? 0) > partition)
      .map((topic) => ({ topic, partition })),
  );
}

function sourceTopicsOf(
  topology: BuiltTopology,
  tasks: readonly TaskId[],
): Map<number, readonly string[]> {
  const own = new Set(tasks.map(({ subtopology }) => subtopology));
  return new Map(
    topology.subtopologies
      .filter(({ id }) => own.has(id))
      .map(({ id, sourceTopics }) => [id, sourceTopics]),
  );
}

function errorCode(error: unknown): AssignmentErrorCode | null {
  if (error instanceof MissingSourceTopicError) return assignmentErrorCodes.missingSourceTopic;
  if (error instanceof MisconfiguredTopicError) return assignmentErrorCodes.misconfiguredTopic;
  return null;
}

function refuse(
  members: readonly MemberSubscription[],
  error: AssignmentErrorCode,
  errorMessage: string,
): Map<string, MemberAssignment> {
  const userData = encodeAssignment({
    error,
    errorMessage,
    activeTasks: [],
    sourceTopics: new Map(),
  });
  return new Map(members.map(({ memberId }) => [memberId, { partitions: [], userData }]));
}
