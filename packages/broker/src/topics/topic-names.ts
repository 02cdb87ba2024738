import { TOPIC_NAME_CHARACTERS } from '../limits.ts';

const LEGAL = /^[a-zA-Z0-9._-]+$/;

/** What is wrong with a topic's name, by Kafka's rules; undefined if nothing is. */
export function topicNameProblem(name: string): string | undefined {
  if (name === '') return 'Topic name is invalid: the empty string is not allowed';
  if (name === '.' || name === '..') return `Topic name is invalid: '${name}' is not allowed`;
  if (name.length > TOPIC_NAME_CHARACTERS) {
    return `Topic name is invalid: it has ${name.length} characters, at most ${TOPIC_NAME_CHARACTERS} are allowed`;
  }
  if (!LEGAL.test(name)) {
    return `Topic name is invalid: '${name}' has characters other than ASCII letters, digits, '.', '_' and '-'`;
  }
  return undefined;
}

/** Names that differ in '.' and '_' only collide in metric names, so Kafka refuses the second one. */
export function collisionKey(name: string): string {
  return name.replaceAll('.', '_');
}
