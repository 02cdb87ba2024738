import { errorCodes } from '@millrace/protocol';
import { StreamsError, TimeoutError } from '../../errors.ts';
import type { ErrorContext } from '../../errors.ts';
import {
  AuthenticationError,
  ClientError,
  ConnectionError,
  UnsupportedVersionError,
} from '../errors.ts';

/** What hangs behind a cause is looked at no deeper than this. */
const CAUSES_MAX = 8;

/** Socket errors of Node that another try may overcome. */
const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ENOTFOUND',
]);

const tlsCode = /^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|EPROTO$)/;

/**
 * The class for whatever kafkajs (or a socket under it) failed with. Names, codes and nested causes
 * are looked at; what is none of them is fatal, never "probably retriable".
 */
export function fromKafkaJs(error: unknown, doing: string, context: ErrorContext): StreamsError {
  if (error instanceof StreamsError) return error;
  let found: StreamsError | null = null;
  let current = error;
  for (let depth = 0; depth < CAUSES_MAX && current instanceof Error && found === null; depth++) {
    found = classify(current, error, doing, context);
    current = current.cause;
  }
  return found ?? new ClientError(`${doing}: ${text(error)}`, { cause: error, context });
}

function classify(
  error: Error,
  cause: unknown,
  doing: string,
  context: ErrorContext,
): StreamsError | null {
  const options = { cause, context };
  const code = 'code' in error ? error.code : undefined;
  const message = `${doing}: ${text(error)}`;
  if (typeof code === 'string' && tlsCode.test(code)) {
    return new AuthenticationError(
      `${message}; check ssl.ca, the certificates and the host name`,
      options,
    );
  }
  if (
    error.name === 'KafkaJSSASLAuthenticationError' ||
    code === errorCodes.SASL_AUTHENTICATION_FAILED ||
    code === errorCodes.UNSUPPORTED_SASL_MECHANISM
  ) {
    return new AuthenticationError(
      `${message}; check sasl.mechanism, user name and password`,
      options,
    );
  }
  if (
    code === errorCodes.UNSUPPORTED_VERSION ||
    error.name === 'KafkaJSServerDoesNotSupportApiKey'
  ) {
    return new UnsupportedVersionError(message, options);
  }
  switch (error.name) {
    case 'KafkaJSRequestTimeoutError':
    case 'KafkaJSLockTimeout':
    case 'KafkaJSTimeout':
      return new TimeoutError(message, options);
    case 'KafkaJSConnectionError':
      // kafkajs words a socket's error into a code of its own; without one it is a refused or lost connection.
      return new ConnectionError(message, options);
    case 'KafkaJSConnectionClosedError':
    case 'KafkaJSBrokerNotFound':
    case 'KafkaJSNoBrokerAvailableError':
      return new ConnectionError(message, options);
    default:
      if (typeof code === 'string' && socketCodes.has(code))
        return new ConnectionError(message, options);
      return null;
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
