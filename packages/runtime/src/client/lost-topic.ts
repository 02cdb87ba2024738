import type { ErrorContext } from '../errors.ts';
import { MissingTopicError } from './errors.ts';
import { MISSING_TOPIC_GRACE_MS } from './limits.ts';
import type { Metadata } from './metadata.ts';

/**
 * Why an internal topic cannot be used any more: it was made anew meanwhile, or no broker has known it
 * for half a minute. Null: it is there, or may be again. What was in it is missing either way, and
 * whoever went on without a word would give wrong results (KAFKA-10357).
 */
export function lostTopicError(
  metadata: Metadata,
  topic: string,
  nowMs: number,
): MissingTopicError | null {
  if (metadata.isReplaced(topic)) return lost(topic, 'was deleted and made anew', { topic });
  if (metadata.missingForMs(topic, nowMs) < MISSING_TOPIC_GRACE_MS) return null;
  const why = `has not been known to any broker for ${MISSING_TOPIC_GRACE_MS} ms, so it was deleted,`;
  return lost(topic, why, { topic });
}

function lost(topic: string, what: string, context: ErrorContext): MissingTopicError {
  return new MissingTopicError(
    `Internal topic ${topic} ${what} while the application runs. What was in it and not processed yet is lost. ` +
      'Reset the application to process its inputs again, or start it again to go on without',
    { context },
  );
}
