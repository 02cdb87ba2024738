import type { Field, Fields } from './field.ts';
import { zeroOf } from './scalar-codecs.ts';

/** A clone of `template` for each call, with arrays and structs of its own. */
type StructMaker = () => Record<string, unknown>;

/** What makes the value of a field that a message does not carry. */
export function defaultMaker(field: Field<unknown>): () => unknown {
  if (field.defaultValue !== undefined) return () => field.defaultValue;
  switch (field.type.kind) {
    case 'array':
      return () => [];
    case 'struct':
      return structMaker(field.type.fields, () => true);
    default: {
      const zero = zeroOf(field.type.kind);
      return () => zero;
    }
  }
}

/**
 * What makes structs with all fields at their defaults. Cloning one template gives all of them the
 * same shape. Arrays and structs are null where `needsDefault` says that a value is going to come.
 */
export function structMaker(
  fields: Fields,
  needsDefault: (field: Field<unknown>) => boolean,
): StructMaker {
  const template: Record<string, unknown> = {};
  const names: string[] = [];
  const makers: (() => unknown)[] = [];
  for (const [name, field] of Object.entries(fields)) {
    const isShared = field.defaultValue !== undefined || isScalar(field);
    template[name] = isShared ? defaultMaker(field)() : null;
    if (isShared || !needsDefault(field)) continue;
    names.push(name);
    makers.push(defaultMaker(field));
  }
  return () => {
    const struct = { ...template };
    for (let index = 0; index < names.length; index++) {
      struct[names[index] as string] = (makers[index] as () => unknown)();
    }
    return struct;
  };
}

function isScalar(field: Field<unknown>): boolean {
  return field.type.kind !== 'array' && field.type.kind !== 'struct';
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
