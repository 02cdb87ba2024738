import { ERROR_MESSAGE_CHARACTERS } from '../limits.ts';

const MESSAGE_FIELD = /message$/i;

/** The same answer, with no error message longer than `ERROR_MESSAGE_CHARACTERS`. */
export function withShortMessages(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || answer instanceof Uint8Array) return answer;
  if (Array.isArray(answer)) return answer.map(withShortMessages);
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]): [string, unknown] =>
      typeof value === 'string' && MESSAGE_FIELD.test(name)
        ? [name, value.slice(0, ERROR_MESSAGE_CHARACTERS)]
        : [name, withShortMessages(value)],
    ),
  );
}
