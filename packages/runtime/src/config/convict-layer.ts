import convict from 'convict';
import type { Definition } from './definition.ts';
import { coerce } from './coerce.ts';

/**
 * convict takes a dot in a name for nesting, and some of Kafka's names are both a leaf and a parent of
 * others (`client.id`, `topology.optimization`). Inside of convict dots are written as colons.
 */
function escapeName(name: string): string {
  return name.replaceAll('.', ':');
}

/** The environment variable of a key: `MILLRACE_COMMIT_INTERVAL_MS`. */
export function environmentName(name: string): string {
  return `MILLRACE_${name.replaceAll(/[.-]/g, '_').toUpperCase()}`;
}

export interface Problem {
  readonly name: string;
  readonly text: string;
}

/**
 * Resolves one table of definitions: defaults, then the file, then the code, then the environment,
 * each over the one before. Every wrong value becomes a problem, none stops the others.
 */
export function resolveLayer(
  definitions: readonly Definition[],
  layers: readonly ReadonlyMap<string, unknown>[],
  environment: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): Record<string, unknown> {
  const schema: Record<string, convict.SchemaObj<unknown>> = {};
  for (const definition of definitions) {
    schema[escapeName(definition.name)] = {
      doc: definition.doc,
      default: definition.default,
      env: environmentName(definition.name),
      // Values are checked below, all of them: convict would print the first only by its escaped name.
      format: '*',
    };
  }
  const config = convict<Record<string, unknown>>(schema, {
    env: environment,
    args: [],
  });
  // convict clones what it holds, and serdes and handlers are no data: they go past it.
  const objects = new Map<string, unknown>();
  for (const layer of layers) {
    for (const [name, value] of layer) {
      if (environment[environmentName(name)] !== undefined) continue;
      objects.delete(name);
      if (isData(value)) config.set(escapeName(name), value);
      else objects.set(name, value);
    }
  }
  const values: Record<string, unknown> = {};
  for (const definition of definitions) {
    const { name } = definition;
    const raw: unknown = objects.has(name) ? objects.get(name) : config.get(escapeName(name));
    values[name] = check(definition, raw, problems);
  }
  return values;
}

function isData(value: unknown): boolean {
  return (typeof value !== 'object' && typeof value !== 'function') || Array.isArray(value);
}

function isEmpty(value: unknown): boolean {
  return value === '' || (Array.isArray(value) && value.length === 0);
}

function check(definition: Definition, raw: unknown, problems: Problem[]): unknown {
  const { name, allowed } = definition;
  if (isEmpty(raw) && isEmpty(definition.default)) {
    if (definition.isRequired) problems.push({ name, text: 'is required' });
    return definition.default;
  }
  const coerced = coerce(definition, raw);
  const range = allowed === null ? '' : ` (${allowed.text})`;
  if (coerced.problem !== null) {
    problems.push({ name, text: `${coerced.problem}${range}, not ${show(raw)}` });
    return definition.default;
  }
  if (allowed !== null && !allowed.accepts(coerced.value)) {
    problems.push({ name, text: `must be ${allowed.text}, not ${show(raw)}` });
    return definition.default;
  }
  return coerced.value;
}

function show(raw: unknown): string {
  if (typeof raw === 'string') return `'${raw}'`;
  if (typeof raw === 'object' && raw !== null) return 'an object';
  return String(raw);
}
