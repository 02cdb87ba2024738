import { isDeepStrictEqual } from 'node:util';
import { expectedOf, type Config, type GoldenCase } from './case.ts';

const CACHE = 'statestore.cache.max.bytes';

/** Settings whose effects are still to be built; a variant that has one is not run. */
const NOT_YET = [
  'processing.exception.handler',
  'production.exception.handler',
  'errors.dead.letter.queue.topic.name',
  'dsl.store.format',
  'ensure.explicit.internal.resource.naming',
];
const STORED = new Set(['table', 'count', 'reduce', 'aggregate']);

function configOf(golden: GoldenCase, variant: number): Config {
  return { ...golden.config, ...golden.variants?.[variant] };
}

/**
 * Whether a variant is within what the slice can do: no setting that is still to be built, and no
 * record cache whose effect shows. A cache does not show if nothing is stored, if the case was not
 * thought worth a run without one, or if that run gives the same.
 */
export function isInSlice(golden: GoldenCase, variant: number): boolean {
  const config = configOf(golden, variant);
  const optimization = config['topology.optimization'];
  if (NOT_YET.some((key) => key in config) || optimization === 'all') return false;
  if (config[CACHE] === 0 || !golden.topology.some(({ op }) => STORED.has(op))) return true;
  if (variantsOf(golden).every((other) => configOf(golden, other)[CACHE] !== 0)) return true;
  const expected = expectedOf(golden, variant);
  return variantsOf(golden).some(
    (other) =>
      configOf(golden, other)[CACHE] === 0 &&
      isInSlice(golden, other) &&
      isDeepStrictEqual(expectedOf(golden, other).steps, expected.steps),
  );
}

/** Whether the variant's stores iterate in the order of in-memory stores, and expire like them. */
export function hasInMemoryStores(golden: GoldenCase, variant: number): boolean {
  const config = configOf(golden, variant);
  return config['dsl.store.suppliers.class'] === 'inMemory' && config[CACHE] === 0;
}

export function variantsOf(golden: GoldenCase): number[] {
  return Array.from({ length: golden.variants?.length ?? 1 }, (_, variant) => variant);
}
