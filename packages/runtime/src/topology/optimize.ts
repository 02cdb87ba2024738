import { ConfigError } from '../errors.ts';

/** `topology.optimization`: "none", "all", or a comma-separated list of the single optimisations. */
export type TopologyOptimization = string;

const ALL = 'all';
const NONE = 'none';
const SINGLE = ['reuse.ktable.source.topics', 'merge.repartition.topics', 'single.store.self.join'];

/** The optimisations asked for, by Kafka's names; an unknown one is a ConfigError. */
export function parseOptimization(value: TopologyOptimization): ReadonlySet<string> {
  const problem = optimizationProblem(value);
  if (problem !== null) throw new ConfigError(`topology.optimization: ${problem}`);
  const parts = split(value);
  if (parts.includes(NONE)) return new Set();
  return new Set(parts.includes(ALL) ? SINGLE : parts);
}

/** What is wrong with it; null if nothing is. */
export function optimizationProblem(value: TopologyOptimization): string | null {
  const parts = split(value);
  const unknown = parts.filter((part) => part !== ALL && part !== NONE && !SINGLE.includes(part));
  if (unknown.length > 0) {
    return (
      `"${unknown.join(', ')}" is unknown. Give "${NONE}", "${ALL}", or a ` +
      `comma-separated list of ${SINGLE.map((name) => `"${name}"`).join(', ')}.`
    );
  }
  if (parts.length > 1 && parts.some((part) => part === ALL || part === NONE)) {
    return `"${value}" combines "${NONE}" or "${ALL}" with something else; each stands alone.`;
  }
  return null;
}

function split(value: TopologyOptimization): string[] {
  return value.split(',').map((part) => part.trim());
}
