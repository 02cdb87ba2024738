import type { Problem } from './convict-layer.ts';
import type { GivenKeys } from './given-keys.ts';

type Values = Record<string, unknown>;

/** Keys that Kafka Streams, or we, know under two names: afterwards both have the value that counts. */
export function mergeOtherNames(streams: Values, given: GivenKeys, problems: Problem[]): void {
  mergePurgeInterval(streams, given, problems);
  for (const what of ['deserialization', 'production']) {
    const name = `${what}.exception.handler`;
    mergeFormer(streams, given, name, `default.${name}`);
  }
  mergeFormer(streams, given, 'statestore.cache.max.bytes', 'cache.max.bytes.buffering');
  if (!given.has('dsl.store.suppliers.class') && streams['default.dsl.store'] === 'in_memory') {
    streams['dsl.store.suppliers.class'] = 'inMemory';
  }
}

/** Kafka ships the key as repartition.purge.interval.ms; it is the same one under another name. */
function mergePurgeInterval(streams: Values, given: GivenKeys, problems: Problem[]): void {
  const own = given.has('delete.interval.ms');
  const alias = given.has('repartition.purge.interval.ms');
  const ownValue = streams['delete.interval.ms'];
  const aliasValue = streams['repartition.purge.interval.ms'];
  if (own && alias && ownValue !== aliasValue) {
    problems.push({
      name: 'delete.interval.ms',
      text: `is ${String(ownValue)}, but repartition.purge.interval.ms is ${String(aliasValue)}: they are one setting, give one of them`,
    });
  }
  const value = alias && !own ? aliasValue : ownValue;
  streams['delete.interval.ms'] = value;
  streams['repartition.purge.interval.ms'] = value;
}

/** The present name counts if both are given. */
function mergeFormer(streams: Values, given: GivenKeys, name: string, former: string): void {
  if (!given.has(name)) streams[name] = streams[former];
  streams[former] = streams[name];
}
