import { MAX_FILE_NAME_LENGTH, MAX_TOPIC_NAME_LENGTH } from '../limits.ts';

export interface TopicPartitionName {
  readonly topic: string;
  readonly partition: number;
}

const LEGAL_TOPIC = /^[a-zA-Z0-9._-]+$/;
const DELETED = /\.[0-9a-f]{32}-delete$/;

/** What is wrong with a topic's name; null: nothing. */
export function checkTopicName(topic: string): string | null {
  if (topic === '') return 'a topic name must not be empty';
  if (topic === '.' || topic === '..') return `"${topic}" is no topic name`;
  if (topic.length > MAX_TOPIC_NAME_LENGTH) {
    return `a topic name has at most ${String(MAX_TOPIC_NAME_LENGTH)} characters`;
  }
  return LEGAL_TOPIC.test(topic)
    ? null
    : `topic name "${topic}" may only hold ASCII letters, digits, '.', '_' and '-'`;
}

/** `topic-N`; null: the directory holds no log. */
export function parseLogDirectoryName(name: string): TopicPartitionName | null {
  const match = /^(.+)-(\d{1,10})$/.exec(name);
  if (!match) return null;
  const topic = match[1] ?? '';
  const partition = Number(match[2]);
  if (checkTopicName(topic) !== null || partition > 2_147_483_647) return null;
  return { topic, partition };
}

export function isDeletedDirectoryName(name: string): boolean {
  return DELETED.test(name);
}

/** `topic-N.<32 hex>-delete`, cut so that it stays a legal file name. */
export function deletedDirectoryName(topic: string, partition: number, uniqueId: string): string {
  const suffix = `-${String(partition)}.${uniqueId}-delete`;
  return topic.slice(0, MAX_FILE_NAME_LENGTH - suffix.length) + suffix;
}
