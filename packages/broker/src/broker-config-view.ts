import { logConfigDefinitions, LONG_MAX, LONG_MAX_TEXT } from '@millrace/compaction';
import { brokerConfigDefinitions, type BrokerConfigDefinition } from './config-definitions.ts';
import type { BrokerServices } from './services.ts';
import { ConfigSource, configTypeCodes, type DescribedConfig } from './topics/topic-config.ts';

/** The broker's settings as DescribeConfigs tells them. */
export function describeBrokerConfig(broker: BrokerServices): DescribedConfig[] {
  const described = new Map<string, DescribedConfig>();
  const add = (
    name: string,
    kind: BrokerConfigDefinition['kind'],
    byDefault: string,
    doc: string,
  ): void => {
    if (described.has(name)) return;
    const given = broker.givenConfig.get(name);
    const synonyms = [{ name, value: byDefault, source: ConfigSource.default as number }];
    if (given !== undefined)
      synonyms.unshift({ name, value: given, source: ConfigSource.staticBroker });
    described.set(name, {
      name,
      value: given ?? byDefault,
      readOnly: true,
      configSource: given === undefined ? ConfigSource.default : ConfigSource.staticBroker,
      isSensitive: false,
      synonyms,
      configType: configTypeCodes[kind],
      documentation: doc,
    });
  };
  const own: Record<string, BrokerConfigDefinition> = brokerConfigDefinitions;
  for (const [name, definition] of Object.entries(own)) {
    const byDefault = definition.default === LONG_MAX ? LONG_MAX_TEXT : String(definition.default);
    add(name, definition.kind, byDefault, definition.doc);
  }
  for (const definition of logConfigDefinitions) {
    for (const { name, factor } of definition.synonyms) {
      if (factor !== 1 && !broker.givenConfig.has(name)) continue;
      add(name, definition.kind, definition.default, definition.doc);
    }
  }
  return [...described.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
