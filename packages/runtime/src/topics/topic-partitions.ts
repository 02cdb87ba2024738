import type { StreamsClient, TopicPartition } from '../client/ports.ts';

/** All partitions of a topic; null if it does not exist. */
export async function topicPartitions(
  client: StreamsClient,
  topic: string,
): Promise<TopicPartition[] | null> {
  const described = (await client.admin().describeTopics([topic])).get(topic);
  if (described === undefined) return null;
  return Array.from({ length: described.partitionCount }, (_, partition) => ({ topic, partition }));
}
