import { logConfigDefinitions } from '@millrace/compaction';
import {
  brokerConfigDefinitions,
  type BrokerConfigDefinition,
  type BrokerConfigName,
} from './config-definitions.ts';
import { ConfigError } from './errors.ts';
import { nearestName } from './nearest-name.ts';

type ValueOf<Definition extends BrokerConfigDefinition> = Definition['kind'] extends 'boolean'
  ? boolean
  : Definition['kind'] extends 'int' | 'long' | 'double'
    ? number
    : string;

/** The broker's own settings under Kafka's names: `config['num.partitions']`. */
export type BrokerConfig = {
  readonly [Name in BrokerConfigName]: ValueOf<(typeof brokerConfigDefinitions)[Name]>;
};

export interface ParsedBrokerConfig {
  readonly config: BrokerConfig;
  /** Defaults for topics, by topic configuration name, where the broker's configuration sets them. */
  readonly topicDefaults: ReadonlyMap<string, string>;
  /** The keys that were given, as text: the static configuration that DescribeConfigs shows. */
  readonly given: ReadonlyMap<string, string>;
}

export type BrokerConfigInput = Readonly<Record<string, string | number | boolean>>;

interface CoarserName {
  readonly name: string;
  readonly unitMs: number;
}

/** Kafka's coarser names for broker-wide times; the finer one wins where several are given. */
const coarserNames: ReadonlyMap<string, readonly CoarserName[]> = new Map([
  [
    'log.retention.ms',
    [
      { name: 'log.retention.minutes', unitMs: 60_000 },
      { name: 'log.retention.hours', unitMs: 3_600_000 },
    ],
  ],
  ['log.roll.ms', [{ name: 'log.roll.hours', unitMs: 3_600_000 }]],
  ['log.roll.jitter.ms', [{ name: 'log.roll.jitter.hours', unitMs: 3_600_000 }]],
]);

/** Checks every key and value; throws one ConfigError that lists all that is wrong. */
export function parseBrokerConfig(input: BrokerConfigInput): ParsedBrokerConfig {
  const problems: string[] = [];
  const given = new Map<string, string>();
  const config: Record<string, boolean | number | string> = {};
  for (const [name, definition] of Object.entries(brokerConfigDefinitions)) {
    config[name] = definition.default;
  }
  const logDefinitions = new Map(
    [...logConfigDefinitions].map((definition) => [definition.brokerName, definition]),
  );
  const coarser = new Map(
    [...coarserNames].flatMap(([fine, list]) =>
      list.map((entry) => [entry.name, { ...entry, fine }] as const),
    ),
  );
  const fine = new Map<string, string>();

  for (const [name, value] of Object.entries(input)) {
    const text = String(value).trim();
    given.set(name, text);
    const definition = (brokerConfigDefinitions as Record<string, BrokerConfigDefinition>)[name];
    if (definition !== undefined) {
      const parsed = parseValue(name, text, definition);
      if (typeof parsed === 'object') problems.push(parsed.problem);
      else config[name] = parsed;
    } else if (coarser.has(name)) {
      if (!/^-?\d+$/.test(text)) problems.push(`${name}: '${text}' is not a whole number`);
    } else if (logDefinitions.has(name)) {
      fine.set(name, text);
    } else {
      problems.push(unknownKey(name, [...coarser.keys(), ...logDefinitions.keys()]));
    }
  }
  for (const [fineName, list] of coarserNames) {
    const set = list.find((entry) => given.has(entry.name));
    if (fine.has(fineName) || set === undefined) continue;
    const amount = Number(given.get(set.name));
    fine.set(fineName, amount < 0 ? '-1' : String(amount * set.unitMs));
  }

  const topicDefaults = new Map<string, string>();
  for (const [brokerName, text] of fine) {
    const definition = logDefinitions.get(brokerName);
    if (definition === undefined) continue;
    const problem = definition.check(text);
    if (problem === undefined) topicDefaults.set(definition.name, text);
    else problems.push(`${brokerName}: ${problem}`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: config as BrokerConfig, topicDefaults, given };
}

function unknownKey(name: string, others: readonly string[]): string {
  const near = nearestName(name, [...Object.keys(brokerConfigDefinitions), ...others]);
  return `${name}: unknown key${near === undefined ? '' : `, did you mean ${near}?`}`;
}

function parseValue(
  name: string,
  text: string,
  definition: BrokerConfigDefinition,
): boolean | number | string | { problem: string } {
  switch (definition.kind) {
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true';
      return { problem: `${name}: '${text}' is neither true nor false` };
    case 'int':
    case 'long':
    case 'double':
      return parseNumber(name, text, definition);
    case 'string':
    case 'list':
      if (definition.oneOf === undefined || definition.oneOf.includes(text)) return text;
      return { problem: `${name}: '${text}' is not one of ${definition.oneOf.join(', ')}` };
  }
}

function parseNumber(
  name: string,
  text: string,
  definition: BrokerConfigDefinition,
): number | { problem: string } {
  const { min = -Number.MAX_VALUE, max = Number.MAX_VALUE } = definition;
  const value = text === '' ? Number.NaN : Number(text);
  const isWhole = definition.kind === 'double' || Number.isInteger(value);
  if (isWhole && value >= min && value <= max) return Math.min(value, Number.MAX_SAFE_INTEGER);
  const range =
    definition.max === undefined
      ? `at least ${definition.min ?? 'any number'}`
      : `${definition.min ?? 'any'} to ${definition.max}`;
  return { problem: `${name}: '${text}' is not allowed, it takes ${range}` };
}
