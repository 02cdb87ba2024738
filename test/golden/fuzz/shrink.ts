import type { JsonObject, Operation } from '../case.ts';
import type { OpenCase } from './java-streams.ts';

/** Attempts after which a case counts as small enough. */
const ATTEMPTS_MAX = 600;

/** Whether a smaller case still shows what the larger one did. */
export type StillFails = (smaller: OpenCase) => Promise<boolean>;

/**
 * Takes away variants, inputs, operations and their options, one after the other, as long as the case
 * still fails; ends when nothing more can go.
 */
export async function shrink(failing: OpenCase, stillFails: StillFails): Promise<OpenCase> {
  let current = failing;
  let attemptCount = 0;
  let hasShrunk = true;
  while (hasShrunk) {
    hasShrunk = false;
    for (const smaller of smallerCases(current)) {
      if (attemptCount++ >= ATTEMPTS_MAX) return current;
      if (!(await stillFails(smaller))) continue;
      current = smaller;
      hasShrunk = true;
      break;
    }
  }
  return current;
}

function* smallerCases(from: OpenCase): Generator<OpenCase> {
  const { variants = [{}], inputs = [], topology } = from;
  if (variants.length > 1) {
    for (const variant of variants) yield { ...from, variants: [variant] };
  }
  // The large steps first.
  for (let part = inputs.length >> 1; part >= 1; part >>= 1) {
    for (let i = inputs.length - part; i > -part; i -= part) {
      yield { ...from, inputs: inputs.toSpliced(Math.max(i, 0), part) };
    }
  }
  for (const n of [...topology].reverse()) yield* withoutOperation(from, n);
  for (const [index, n] of topology.entries()) {
    for (const simpler of simplerOperations(n)) {
      yield { ...from, topology: topology.with(index, simpler) };
    }
  }
  for (const [index, input] of inputs.entries()) {
    if ('advanceWallClockMs' in input || input.headers === undefined) continue;
    const { topic, key, value, timestamp = 0 } = input;
    yield { ...from, inputs: inputs.with(index, { topic, key, value, timestamp }) };
  }
}

/** Without an operation: with what it was applied to in its place, or without all that builds on it. */
function* withoutOperation(from: OpenCase, n: Operation): Generator<OpenCase> {
  if (n.id !== undefined && n.of !== undefined) {
    const bypassed = from.topology.filter((other) => other !== n).map((other) => renamed(other, n));
    yield { ...from, topology: bypassed };
  }
  const gone = new Set<string>();
  const left = from.topology.filter((other) => {
    const isGone = other === n || [other.of, other['with']].some((id) => isIn(gone, id));
    if (isGone && other.id !== undefined) gone.add(other.id);
    return !isGone;
  });
  yield { ...from, topology: left };
}

/** What belongs to a split is named after it. */
function isIn(gone: ReadonlySet<string>, id: unknown): boolean {
  return typeof id === 'string' && (gone.has(id) || gone.has(id.slice(0, id.indexOf('.'))));
}

function renamed(other: Operation, n: Operation): Operation {
  const replace = (id: unknown): unknown =>
    id === n.id || (typeof id === 'string' && id.startsWith(`${String(n.id)}.`)) ? n.of : id;
  const changed: Record<string, unknown> = { ...other };
  for (const field of ['of', 'with']) {
    if (other[field] !== undefined) changed[field] = replace(other[field]);
  }
  return changed as unknown as Operation;
}

const optional = [
  'name',
  'store',
  'materialized',
  'graceMs',
  'maxRecords',
  'maxBytes',
  'punctuate',
  'addHeaders',
  'timestamp',
];

function* simplerOperations(n: Operation): Generator<Operation> {
  for (const field of optional) {
    if (n[field] !== undefined) yield without(n, field) as Operation;
  }
  for (const field of ['materialized', 'window', 'punctuate']) {
    const inner = n[field] as JsonObject | undefined;
    if (inner === undefined) continue;
    for (const key of Object.keys(inner)) yield { ...n, [field]: without(inner, key) };
  }
}

function without(object: JsonObject, field: string): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => key !== field));
}
