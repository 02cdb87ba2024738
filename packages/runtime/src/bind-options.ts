import type { StreamsConfig } from './config/streams-config.ts';
import type { BindOptions } from './topology/bind.ts';

/** How a configuration binds a topology: the same for an application and for a test driver. */
export function bindOptions(config: StreamsConfig): BindOptions {
  return {
    applicationId: config.get('application.id'),
    defaultKeySerde: config.get('default.key.serde'),
    defaultValueSerde: config.get('default.value.serde'),
    defaultTimestampExtractor: config.get('default.timestamp.extractor'),
    ensureExplicitNames: config.get('ensure.explicit.internal.resource.naming'),
    changelogAdditionalRetentionMs: config.get('windowstore.changelog.additional.retention.ms'),
    storeType: isInMemory(config.get('dsl.store.suppliers.class')) ? 'inMemory' : 'persistent',
    storeFormat: config.get('dsl.store.format') as 'DEFAULT' | 'HEADERS',
    cacheMaxBytes: config.get('statestore.cache.max.bytes'),
    skipsIgnoredValues: typeof config.get('processing.exception.handler') !== 'function',
  };
}

/** By our name, or by the name of Kafka Streams' class. */
function isInMemory(suppliers: string): boolean {
  return suppliers === 'inMemory' || suppliers.endsWith('InMemoryDslStoreSuppliers');
}
