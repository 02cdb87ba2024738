import {
  checkSetting,
  logConfigDefinitions,
  resolveSetting,
  type LogConfigDefinition,
} from '@millrace/compaction';
import { nearestName } from '../nearest-name.ts';
import { TopicError } from './topic-error.ts';

/** Kafka's codes of where a value comes from (KIP-226). */
export const ConfigSource = {
  topic: 1,
  dynamicBroker: 2,
  dynamicDefaultBroker: 3,
  staticBroker: 4,
  default: 5,
} as const;

/** Kafka's codes of value kinds (KIP-569). */
export const configTypeCodes = {
  boolean: 1,
  string: 2,
  int: 3,
  long: 5,
  double: 6,
  list: 7,
} as const;

export interface DescribedConfig {
  readonly name: string;
  readonly value: string;
  readonly readOnly: boolean;
  readonly configSource: number;
  readonly isSensitive: boolean;
  readonly synonyms: readonly { name: string; value: string; source: number }[];
  readonly configType: number;
  readonly documentation: string;
}

type Entries = ReadonlyMap<string, string>;

const byName: ReadonlyMap<string, LogConfigDefinition> = new Map(
  logConfigDefinitions.map((definition) => [definition.name, definition]),
);

/** The broker-wide configuration behind that of topics. */
export interface BrokerValues {
  readonly effective: Entries;
  /** Who sets a value, strongest first. */
  layersOf(name: string): readonly { readonly value: string; readonly source: number }[];
}

/** Every setting of a topic with its value, source and synonyms, strongest first, as Kafka lists them. */
export function describeTopicConfig(configs: Entries, broker: BrokerValues): DescribedConfig[] {
  return logConfigDefinitions
    .filter((definition) => definition.isInternal !== true)
    .map((definition) => describeOne(definition, configs, broker));
}

function describeOne(
  definition: LogConfigDefinition,
  configs: Entries,
  broker: BrokerValues,
): DescribedConfig {
  const { name } = definition;
  const { value, source, synonym } = resolveSetting(definition, configs, broker.effective);
  const own = configs.get(name);
  const synonyms: { name: string; value: string; source: number }[] = [];
  if (own !== undefined) synonyms.push({ name, value: own, source: ConfigSource.topic });
  for (const { name: brokerName } of definition.synonyms) {
    for (const layer of broker.layersOf(brokerName)) synonyms.push({ name: brokerName, ...layer });
  }
  const [shown, ...others] = definition.synonyms;
  // Where a setting has names of several units, none of them has a default of its own.
  if (shown !== undefined && others.length === 0) {
    synonyms.push({ name: shown.name, value: definition.default, source: ConfigSource.default });
  }
  return {
    name,
    value,
    readOnly: false,
    configSource:
      synonym === null
        ? sourceCodes[source]
        : (broker.layersOf(synonym)[0]?.source ?? ConfigSource.staticBroker),
    isSensitive: false,
    synonyms,
    configType: configTypeCodes[definition.kind],
    documentation: definition.doc,
  };
}

const sourceCodes = {
  topic: ConfigSource.topic,
  broker: ConfigSource.staticBroker,
  default: ConfigSource.default,
} as const;

/** KIP-339's operations on one key. */
export const ConfigOperation = { set: 0, delete: 1, append: 2, subtract: 3 } as const;

export interface ConfigChange {
  readonly name: string;
  readonly configOperation: number;
  readonly value: string | null;
}

/**
 * The topic's own settings after the changes. Append and subtract work on the list as it is in effect,
 * the broker's default included, as in Kafka.
 *
 * @throws TopicError INVALID_REQUEST for a change that makes no sense, INVALID_CONFIG for a bad key or value.
 */
export function applyConfigChanges(
  configs: Entries,
  changes: readonly ConfigChange[],
  brokerGiven: Entries,
): Map<string, string> {
  const names = changes.map((change) => change.name);
  if (new Set(names).size !== names.length) {
    throw new TopicError('INVALID_REQUEST', 'Error due to duplicate config keys');
  }
  const missing = changes.filter(
    (change) => change.value === null && change.configOperation !== ConfigOperation.delete,
  );
  if (missing.length > 0) {
    const list = missing.map((change) => change.name).join(', ');
    throw new TopicError('INVALID_REQUEST', `Null value not supported for : ${list}`);
  }
  const result = new Map(configs);
  for (const { name, configOperation, value } of changes) {
    if (configOperation === ConfigOperation.delete) {
      result.delete(name);
      continue;
    }
    const definition = byName.get(name);
    if (definition === undefined) throw unknownSetting(name);
    switch (configOperation) {
      case ConfigOperation.set:
        result.set(name, value as string);
        break;
      case ConfigOperation.append:
      case ConfigOperation.subtract: {
        if (definition.kind !== 'list') {
          const verb = configOperation === ConfigOperation.append ? 'append' : 'subtract';
          throw new TopicError(
            'INVALID_CONFIG',
            `Config value ${verb} is not allowed for config key: ${name}`,
          );
        }
        const current = resolveSetting(definition, result, brokerGiven).value;
        result.set(name, changeList(current, value as string, configOperation));
        break;
      }
      default:
        throw new TopicError(
          'INVALID_REQUEST',
          `Unknown operation ${configOperation} on config ${name}`,
        );
    }
  }
  checkTopicConfig(result);
  return result;
}

/** Throws TopicError INVALID_CONFIG that names every wrong setting. */
function checkTopicConfig(configs: Entries): void {
  const problems: string[] = [];
  for (const [name, value] of configs) {
    const definition = byName.get(name);
    if (definition === undefined) problems.push(unknownSetting(name).message);
    else {
      const problem = checkSetting(definition, value);
      if (problem !== null) problems.push(problem);
    }
  }
  if (problems.length > 0) throw new TopicError('INVALID_CONFIG', problems.join('; '));
}

function unknownSetting(name: string): TopicError {
  const near = nearestName(name, byName.keys());
  const hint = near === undefined ? '' : `, did you mean ${near}?`;
  return new TopicError('INVALID_CONFIG', `Unknown topic config name: ${name}${hint}`);
}

function changeList(current: string, given: string, operation: number): string {
  const items = splitList(current);
  const others = splitList(given);
  return (
    operation === ConfigOperation.append
      ? [...items, ...others.filter((item) => !items.includes(item))]
      : items.filter((item) => !others.includes(item))
  ).join(',');
}

function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
