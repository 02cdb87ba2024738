/** Kafka's bound. */
const TOPIC_NAME_MAX_CHARS = 249;
const LEGAL = /^[A-Za-z0-9._-]+$/;

/** What brokers accept as the name of a topic. */
export const TOPIC_NAME_RULE = `1 to ${String(TOPIC_NAME_MAX_CHARS)} ASCII letters, digits, ".", "_" and "-"`;

export function isTopicName(name: string): boolean {
  return name.length <= TOPIC_NAME_MAX_CHARS && LEGAL.test(name) && name !== '.' && name !== '..';
}
