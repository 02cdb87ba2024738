import {
  checkSetting,
  logConfigDefinitions,
  parseLogConfig,
  resolveSetting,
  type CleanerSettings,
} from '@millrace/compaction';
import {
  brokerConfigDefinitions,
  type BrokerConfigDefinition,
  type BrokerConfigName,
} from './config-definitions.ts';
import { ConfigError } from './errors.ts';
import { LEAST_DEDUPE_BYTES_PER_THREAD } from './limits.ts';
import { nearestName } from './nearest-name.ts';
import { TopicError } from './topics/topic-error.ts';

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
  /** What was given, as text and by Kafka's names: DescribeConfigs shows it as static configuration. */
  readonly given: ReadonlyMap<string, string>;
}

export type BrokerConfigInput = Readonly<Record<string, string | number | boolean>>;

/**
 * Checks every key and value; throws one ConfigError that lists all that is wrong. Keys that are the
 * broker-wide form of a topic setting (`log.retention.ms` ...) come from the log store's table.
 */
export function parseBrokerConfig(input: BrokerConfigInput): ParsedBrokerConfig {
  const problems: string[] = [];
  const given = new Map<string, string>();
  const config: Record<string, boolean | number | string> = {};
  for (const [name, definition] of Object.entries(brokerConfigDefinitions)) {
    config[name] = definition.default;
  }
  for (const [name, value] of Object.entries(input)) {
    const text = String(value).trim();
    given.set(name, text);
    const definition = (brokerConfigDefinitions as Record<string, BrokerConfigDefinition>)[name];
    const topicProblem = checkTopicDefault(name, text);
    if (definition !== undefined) {
      const parsed = parseValue(name, text, definition);
      if (typeof parsed === 'object') problems.push(parsed.problem);
      else config[name] = parsed;
    } else if (topicProblem === 'unknown') problems.push(unknownKey(name));
    else if (topicProblem !== null) problems.push(topicProblem);
  }
  if (problems.length === 0) problems.push(...contradictions(config as BrokerConfig, given));
  if (problems.length > 0) throw new ConfigError(problems);
  return { config: config as BrokerConfig, given };
}

/** Of values that are allowed each by itself. */
function contradictions(config: BrokerConfig, given: ReadonlyMap<string, string>): string[] {
  const problems: string[] = [];
  const threads = config['log.cleaner.threads'];
  const dedupeBytes = config['log.cleaner.dedupe.buffer.size'];
  if (dedupeBytes / threads <= LEAST_DEDUPE_BYTES_PER_THREAD) {
    problems.push(
      `log.cleaner.dedupe.buffer.size: '${dedupeBytes}' is not allowed, it takes more than ` +
        `${LEAST_DEDUPE_BYTES_PER_THREAD} for each of log.cleaner.threads=${threads}`,
    );
  }
  try {
    parseLogConfig(new Map(), given);
  } catch (error) {
    problems.push(`as the configuration of topics: ${(error as Error).message}`);
  }
  return problems;
}

/** What may become of log.cleaner.threads at one time (KIP-226). Throws TopicError. */
export function checkThreads(now: BrokerConfig, next: BrokerConfig): void {
  const before = now['log.cleaner.threads'];
  const after = next['log.cleaner.threads'];
  if (after < Math.floor(before / 2)) {
    throw new TopicError(
      'INVALID_REQUEST',
      `log.cleaner.threads: '${after}' is not allowed now, it cannot be reduced to less than half the current value ${before}`,
    );
  }
  if (after > before * 2) {
    throw new TopicError(
      'INVALID_REQUEST',
      `log.cleaner.threads: '${after}' is not allowed now, it cannot be increased to more than double the current value ${before}`,
    );
  }
}

export function cleanerSettingsOf(config: BrokerConfig): CleanerSettings {
  return {
    threads: config['log.cleaner.threads'],
    dedupeBufferBytes: config['log.cleaner.dedupe.buffer.size'],
    ioBufferBytes: config['log.cleaner.io.buffer.size'],
    loadFactor: config['log.cleaner.io.buffer.load.factor'],
    maxIoBytesPerSecond: config['log.cleaner.io.max.bytes.per.second'],
    backoffMs: config['log.cleaner.backoff.ms'],
  };
}

/** null: a good value; `unknown`: not the broker-wide form of any topic setting. */
function checkTopicDefault(name: string, text: string): string | null {
  let isKnown = false;
  for (const definition of logConfigDefinitions) {
    if (!definition.synonyms.some((synonym) => synonym.name === name)) continue;
    isKnown = true;
    const { value } = resolveSetting(definition, new Map(), new Map([[name, text]]));
    const problem = checkSetting(definition, value);
    if (problem !== null) return `${name}: as the topic setting ${problem}`;
  }
  return isKnown ? null : 'unknown';
}

export function unknownKey(name: string): string {
  const topicDefaults = logConfigDefinitions.flatMap(({ synonyms }) => synonyms);
  const near = nearestName(name, [
    ...Object.keys(brokerConfigDefinitions),
    ...topicDefaults.map((synonym) => synonym.name),
  ]);
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
  if (isWhole && value >= min && value <= max) {
    return definition.kind === 'double' ? value : Math.min(value, Number.MAX_SAFE_INTEGER);
  }
  const range =
    definition.max === undefined
      ? `at least ${definition.min ?? 'any number'}`
      : `${definition.min ?? 'any'} to ${definition.max}`;
  return { problem: `${name}: '${text}' is not allowed, it takes ${range}` };
}
