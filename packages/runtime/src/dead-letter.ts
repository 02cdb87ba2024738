import { RecordHeaders } from '@millrace/protocol';
import type { DeadLetterRecord, ErrorHandlerContext } from './error-handlers.ts';
import { messageOf } from './errors.ts';

/** Deeper chains of causes are cut off in the stack trace. */
const CAUSES_MAX = 16;

/**
 * The dead letter of a record as Kafka Streams writes it (KIP-1034): the source record's bytes, the
 * timestamp and headers of the record in hand, and `__streams.errors.*` headers that say what went
 * wrong and where the source record is.
 */
export function deadLetter(
  topic: string,
  context: ErrorHandlerContext,
  error: unknown,
): DeadLetterRecord {
  const headers = context.headers?.copy() ?? new RecordHeaders();
  headers
    .add('__streams.errors.exception', errorName(error))
    .add('__streams.errors.message', messageOf(error))
    .add('__streams.errors.stacktrace', stackTrace(error))
    .add('__streams.errors.topic', context.topic)
    .add('__streams.errors.partition', String(context.partition))
    .add('__streams.errors.offset', context.offset.toString());
  return {
    topic,
    key: context.sourceRawKey,
    value: context.sourceRawValue,
    headers,
    ...(context.timestamp < 0 ? {} : { timestamp: context.timestamp }),
  };
}

/** The class of an error; `Error` itself where it has no better name. */
function errorName(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return error.name === 'Error' ? error.constructor.name : error.name;
}

function stackTrace(error: unknown): string {
  const parts: string[] = [];
  for (let each = error; parts.length < CAUSES_MAX; each = each.cause) {
    if (!(each instanceof Error)) {
      if (each !== undefined) parts.push(messageOf(each));
      break;
    }
    parts.push(each.stack ?? `${each.name}: ${each.message}`);
  }
  return parts.join('\nCaused by: ');
}
