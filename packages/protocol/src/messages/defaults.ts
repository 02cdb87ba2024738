import type { Field, Fields } from './field.ts';
import { zeroOf } from './scalar-codecs.ts';

/** The value of a field that a message does not carry. Arrays and structs are new each time. */
export function defaultOf(field: Field<unknown>): unknown {
  if (field.defaultValue !== undefined) return field.defaultValue;
  switch (field.type.kind) {
    case 'array':
      return [];
    case 'struct':
      return defaultStruct(field.type.fields);
    default:
      return zeroOf(field.type.kind);
  }
}

function defaultStruct(fields: Fields): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) result[name] = defaultOf(field);
  return result;
}

/** Whether a default can be shared between messages: it cannot be changed in place. */
export function isSharedDefault(field: Field<unknown>): boolean {
  const { kind } = field.type;
  return field.defaultValue !== undefined || (kind !== 'array' && kind !== 'struct');
}

/** A test for "says nothing": absent, or equal to the default. Such a tagged field is not written. */
export function defaultTest(field: Field<unknown>): (value: unknown) => boolean {
  const { defaultValue, type } = field;
  if (defaultValue === null) return (value) => value === undefined || value === null;
  if (type.kind === 'array' || type.kind === 'bytes' || type.kind === 'records') {
    return (value) => value === undefined || (value as { length: number } | null)?.length === 0;
  }
  if (type.kind === 'struct') {
    const tests = Object.entries(type.fields).map(([name, of]) => [name, defaultTest(of)] as const);
    return (value) =>
      value === undefined ||
      (value !== null &&
        tests.every(([name, test]) => test((value as Record<string, unknown>)[name])));
  }
  const scalar = defaultValue ?? zeroOf(type.kind);
  return (value) => value === undefined || value === scalar;
}
