import type { TopicPartition } from '../client/ports.ts';
import { AssignmentVersionError } from '../errors.ts';
import type { TaskId } from '../operators/task-context.ts';
import { decodeAssignment, decodeSubscription } from './subscription.ts';

/** What a member of a group of stream threads has told the group, and was told by it. */
export interface ApplicationMember {
  /** One per KafkaStreams instance; null while the group rebalances. */
  readonly processId: string | null;
  readonly tasks: readonly AssignedTask[];
}

export interface AssignedTask extends TaskId {
  /** Its inputs; empty if the leader's version does not tell them. */
  readonly inputs: readonly TopicPartition[];
}

interface Member {
  readonly partitions: readonly TopicPartition[] | null;
  readonly userData: { readonly subscription: Buffer; readonly assignment: Buffer };
}

/**
 * Looks at a member of a described group from the outside. Null if it is none of ours, such as one of
 * Kafka Streams in Java, or of a version that cannot be read.
 */
export function applicationMember({ partitions, userData }: Member): ApplicationMember | null {
  const { subscription, assignment } = userData;
  if (subscription.length === 0 && assignment.length === 0) return null;
  try {
    const processId = subscription.length === 0 ? null : decodeSubscription(subscription).processId;
    if (assignment.length === 0) return { processId, tasks: [] };
    const { activeTasks, sourceTopics } = decodeAssignment(assignment);
    const tasks = activeTasks.map((task): AssignedTask => {
      const topics = new Set(sourceTopics.get(task.subtopology));
      const inputs = (partitions ?? []).filter(
        ({ topic, partition }) => partition === task.partition && topics.has(topic),
      );
      return { ...task, inputs };
    });
    return { processId, tasks };
  } catch (error) {
    if (error instanceof AssignmentVersionError) return null;
    throw error;
  }
}
