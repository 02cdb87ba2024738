import { StreamsError, type ErrorOptions } from '../errors.ts';

/**
 * A serde refused a value (writing) or bytes (reading); names the serde and what it got. In a sink the
 * production handler decides about it, as about anything else that a serde throws, except for the next.
 */
export class SerializationError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('SERIALIZATION_FAILED', 'record', false, message, options);
  }
}

/**
 * A serde got a value that is not of the type it writes: the application's mistake (Java's
 * ClassCastException), which no production handler is asked about. A native TypeError counts as one.
 */
export class WrongTypeError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('SERDE_TYPE_MISMATCH', 'record', false, message, options);
  }
}

export function isWrongType(error: unknown): boolean {
  return error instanceof WrongTypeError || error instanceof TypeError;
}

const SHOWN_VALUE_MAX_CHARS = 60;

/** A value's type and beginning, for messages. */
export function describeValue(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value === 'object') {
    const name = (value as { constructor?: { name?: string } }).constructor?.name;
    return `an object (${name === undefined || name === '' ? 'no class' : name})`;
  }
  if (typeof value === 'function' || typeof value === 'undefined') return typeof value;
  // What is left is a primitive.
  const shown = (value as { toString(): string }).toString();
  const cut =
    shown.length > SHOWN_VALUE_MAX_CHARS ? `${shown.slice(0, SHOWN_VALUE_MAX_CHARS)}…` : shown;
  return `${typeof value} ${JSON.stringify(cut)}`;
}

export function wrongType(serde: string, expected: string, value: unknown): WrongTypeError {
  return new WrongTypeError(
    `The serde "${serde}" writes ${expected}, but got ${describeValue(value)}. ` +
      'Give the operator that writes it a serde of that type.',
  );
}

/** A value of the right type that the serde has no bytes for. */
export function outOfRange(serde: string, expected: string, value: unknown): SerializationError {
  return new SerializationError(
    `The serde "${serde}" writes ${expected}, but got ${describeValue(value)}.`,
  );
}

export function wrongLength(serde: string, expected: number, actual: number): SerializationError {
  return new SerializationError(
    `The serde "${serde}" reads exactly ${String(expected)} bytes, but got ${String(actual)}.`,
  );
}
