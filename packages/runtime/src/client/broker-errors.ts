import { errorCodes } from '@millrace/protocol';
import type { ErrorContext, ErrorScope, StreamsError } from '../errors.ts';
import { isAuthorizationError } from './error-codes.ts';
import { AuthorizationError, BrokerError } from './errors.ts';
import { errorByCode } from '@millrace/protocol';

/** The error for a code that a broker answered with; `message` says what did not work, and with what. */
export function brokerError(
  code: number,
  message: string,
  context: ErrorContext,
  scope: ErrorScope = 'task',
): StreamsError {
  if (isAuthorizationError(code)) {
    const { name } = errorByCode(code);
    return new AuthorizationError(
      `${message}: ${name} (${code}); check the ACLs of this principal`,
      {
        context,
      },
    );
  }
  const isFatal = code === errorCodes.UNSUPPORTED_VERSION;
  return new BrokerError(code, isFatal ? 'client' : scope, message, { context });
}

export function topicOf({ topic }: { readonly topic: string }): string {
  return topic;
}
