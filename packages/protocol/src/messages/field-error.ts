import { ProtocolError } from '../bytes/protocol-error.ts';

/**
 * An error on its way out of nested fields, gathering where it happened. It never leaves this
 * folder: `describeFieldError` turns it into a ProtocolError that names message and field.
 */
export class FieldError extends Error {
  readonly code: string;
  path: string;

  constructor(error: unknown, segment: string) {
    super(error instanceof Error ? error.message : String(error), { cause: error });
    this.code = error instanceof ProtocolError ? error.code : 'PROTOCOL_INVALID_VALUE';
    this.path = segment;
  }
}

/** The error to throw on from within a field (`topics`) or an element (`[3]`). */
export function atField(error: unknown, segment: string): FieldError {
  if (!(error instanceof FieldError)) return new FieldError(error, segment);
  error.path = error.path.startsWith('[') ? segment + error.path : `${segment}.${error.path}`;
  return error;
}

/** @param what the message, such as `FetchRequest version 12` */
export function describeFieldError(error: unknown, action: string, what: string): unknown {
  if (error instanceof FieldError) {
    const message = `cannot ${action} ${what}: ${error.path}: ${error.message}`;
    return new ProtocolError(error.code, message, { cause: error.cause });
  }
  return error;
}
