import {
  ConsumerProtocolAssignment,
  ConsumerProtocolSubscription,
  decodeVersioned,
  encodeVersioned,
} from '@millrace/protocol';
import type { MemberAssignment, MemberSubscription, TopicPartition } from './ports.ts';

/**
 * The embedded consumer protocol, so that Kafka's tools can show what a member subscribes to and what
 * it was assigned. Version 0: later ones add what only Kafka's own assignors use.
 */
const VERSION = 0;

const newerAsNewest = { newerAsNewest: true };

const noBytes = Buffer.alloc(0);

export function encodeSubscription(topics: readonly string[], userData: Buffer): Buffer {
  return encodeVersioned(ConsumerProtocolSubscription, VERSION, { topics, userData });
}

export function decodeSubscription(
  memberId: string,
  groupInstanceId: string | null,
  metadata: Buffer,
): MemberSubscription {
  const { body } = decodeVersioned(ConsumerProtocolSubscription, metadata, newerAsNewest);
  const { topics, userData } = body;
  return { memberId, groupInstanceId, topics, userData: userData ?? noBytes };
}

export function encodeAssignment({ partitions, userData }: MemberAssignment): Buffer {
  const topics = new Map<string, number[]>();
  for (const { topic, partition } of partitions) {
    const ofTopic = topics.get(topic);
    if (ofTopic === undefined) topics.set(topic, [partition]);
    else ofTopic.push(partition);
  }
  return encodeVersioned(ConsumerProtocolAssignment, VERSION, {
    assignedPartitions: [...topics].map(([topic, ofTopic]) => ({ topic, partitions: ofTopic })),
    userData,
  });
}

/** A member that the leader gave nothing is sent no bytes at all. */
export function decodeAssignment(assignment: Buffer): MemberAssignment {
  if (assignment.length === 0) return { partitions: [], userData: noBytes };
  const { body } = decodeVersioned(ConsumerProtocolAssignment, assignment, newerAsNewest);
  const { assignedPartitions, userData } = body;
  const partitions: TopicPartition[] = [];
  for (const { topic, partitions: ofTopic } of assignedPartitions) {
    for (const partition of ofTopic) partitions.push({ topic, partition });
  }
  return { partitions, userData: userData ?? noBytes };
}
