import { logConfigDefinitions } from '@millrace/compaction';
import { defaultText, isDynamic, type BrokerConfigs } from './broker-configs.ts';
import { brokerConfigDefinitions, type BrokerConfigDefinition } from './config-definitions.ts';
import { ConfigSource, configTypeCodes, type DescribedConfig } from './topics/topic-config.ts';

interface Described {
  readonly name: string;
  readonly kind: BrokerConfigDefinition['kind'];
  readonly byDefault: string;
  readonly doc: string;
}

/** The broker's settings as DescribeConfigs tells them. */
export function describeBrokerConfig(configs: BrokerConfigs): DescribedConfig[] {
  return definitions(configs).map(({ name, kind, byDefault, doc }) => {
    const layers = [
      ...configs.layersOf(name),
      { value: byDefault, source: ConfigSource.default as number },
    ];
    const [strongest] = layers as [(typeof layers)[0]];
    return {
      name,
      value: strongest.value,
      readOnly: !isDynamic(name),
      configSource: strongest.source,
      isSensitive: false,
      synonyms: layers.map(({ value, source }) => ({ name, value, source })),
      configType: configTypeCodes[kind],
      documentation: doc,
    };
  });
}

/** What was set at run time for all nodes, as DescribeConfigs tells it of the broker without a name. */
export function describeClusterConfig(configs: BrokerConfigs): DescribedConfig[] {
  const set = configs.entriesOf('cluster');
  return definitions(configs)
    .filter(({ name }) => set.has(name))
    .map(({ name, kind, doc }) => {
      const value = set.get(name) as string;
      const source = ConfigSource.dynamicDefaultBroker;
      return {
        name,
        value,
        readOnly: false,
        configSource: source,
        isSensitive: false,
        synonyms: [{ name, value, source }],
        configType: configTypeCodes[kind],
        documentation: doc,
      };
    });
}

function definitions(configs: BrokerConfigs): Described[] {
  const described = new Map<string, Described>();
  const add = (one: Described): void => {
    if (!described.has(one.name)) described.set(one.name, one);
  };
  const own: Record<string, BrokerConfigDefinition> = brokerConfigDefinitions;
  for (const [name, definition] of Object.entries(own)) {
    const { kind, doc } = definition;
    add({ name, kind, byDefault: defaultText(definition), doc });
  }
  for (const { kind, default: byDefault, doc, synonyms } of logConfigDefinitions) {
    for (const { name, factor } of synonyms) {
      if (factor === 1 || configs.effective.has(name)) add({ name, kind, byDefault, doc });
    }
  }
  return [...described.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
