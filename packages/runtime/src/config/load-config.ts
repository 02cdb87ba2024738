import { ConfigError } from '../errors.ts';
import { SUGGESTION_MAX_DISTANCE } from '../limits.ts';
import { consumerDefinitions, producerDefinitions } from './client-definitions.ts';
import type {
  ConsumerValues,
  ProducerValues,
  StreamsConfigInput,
  StreamsValues,
} from './config-input.ts';
import type { Problem } from './convict-layer.ts';
import { resolveLayer } from './convict-layer.ts';
import type { Definition } from './definition.ts';
import { nearestName } from './nearest-name.ts';
import { StreamsConfig } from './streams-config.ts';
import { streamsDefinitions } from './streams-definitions.ts';

const consumerPrefixes = ['consumer.', 'main.consumer.', 'restore.consumer.', 'global.consumer.'];
/** Any name may follow: topic configs and tags are not ours to know, and admin keys have no effect. */
const openPrefixes = ['topic.', 'client.tag.', 'admin.'];

export interface ConfigSources {
  /** Given in code. */
  readonly config: StreamsConfigInput;
  /** Content of a configuration file: one JSON object with Kafka's names. */
  readonly file?: string;
  /** Environment variables such as MILLRACE_COMMIT_INTERVAL_MS; they count for most. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Required keys that are answered in another way, such as by a Kafka instance of the user's own. */
  readonly notRequired?: readonly string[];
}

/**
 * The configuration from its sources; a later one counts for more: defaults, file, code, environment.
 * Throws one ConfigError that lists everything that is wrong.
 */
export function loadConfig(sources: ConfigSources): StreamsConfig {
  const problems: Problem[] = [];
  const environment = sources.environment ?? {};
  const layers = [readFileLayer(sources.file, problems), toLayer(sources.config)];
  for (const layer of layers) findUnknown(layer, problems);

  const notRequired = sources.notRequired ?? [];
  const streams = resolveLayer(
    streamsDefinitions.map((definition) =>
      notRequired.includes(definition.name) ? { ...definition, isRequired: false } : definition,
    ),
    layers.map((layer) => pick(layer, streamsDefinitions, [''])),
    environment,
    problems,
  );
  const consumer = (prefix: string): ConsumerValues =>
    resolveLayer(
      consumerDefinitions,
      layers.map((layer) => pick(layer, consumerDefinitions, ['', 'consumer.', prefix])),
      environment,
      problems,
    ) as unknown as ConsumerValues;
  const mainConsumer = consumer('main.consumer.');
  const restoreConsumer = consumer('restore.consumer.');
  const globalConsumer = consumer('global.consumer.');
  const producer = resolveLayer(
    producerDefinitions,
    layers.map((layer) => pick(layer, producerDefinitions, ['', 'producer.'])),
    environment,
    problems,
  ) as unknown as ProducerValues;

  mergePurgeInterval(streams, layers, environment, problems);
  mergeHandlers(streams, layers, environment);
  mergeStores(streams, layers, environment);
  checkTogether(mainConsumer, problems);
  checkSasl(streams, problems);
  if (problems.length > 0) throw configError(problems);
  return new StreamsConfig({
    streams: streams as unknown as StreamsValues,
    mainConsumer,
    restoreConsumer,
    globalConsumer,
    producer,
    topicDefaults: topicDefaults(layers),
    withoutEffect: withoutEffect(layers),
  });
}

function toLayer(config: StreamsConfigInput): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(config).filter(([, value]) => value !== undefined));
}

function readFileLayer(
  text: string | undefined,
  problems: Problem[],
): ReadonlyMap<string, unknown> {
  if (text === undefined) return new Map();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    problems.push({ name: 'configuration file', text: `is no JSON: ${(error as Error).message}` });
    return new Map();
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    problems.push({ name: 'configuration file', text: 'must be one JSON object' });
    return new Map();
  }
  return new Map(Object.entries(parsed));
}

function knownNames(): string[] {
  const names: string[] = streamsDefinitions.map(({ name }) => name);
  for (const { name } of consumerDefinitions) {
    names.push(name, ...consumerPrefixes.map((prefix) => prefix + name));
  }
  for (const { name } of producerDefinitions) names.push(name, `producer.${name}`);
  return names;
}

function findUnknown(layer: ReadonlyMap<string, unknown>, problems: Problem[]): void {
  const known = new Set(knownNames());
  for (const name of layer.keys()) {
    if (known.has(name) || openPrefixes.some((prefix) => name.startsWith(prefix))) continue;
    const nearest = nearestName(name, known, SUGGESTION_MAX_DISTANCE);
    const hint = nearest === null ? '' : `; did you mean ${nearest}?`;
    problems.push({ name, text: `is not known${hint}` });
  }
}

/** The keys of a table, under each of the prefixes; a later prefix counts for more. */
function pick(
  layer: ReadonlyMap<string, unknown>,
  definitions: readonly Definition[],
  prefixes: readonly string[],
): ReadonlyMap<string, unknown> {
  const picked = new Map<string, unknown>();
  for (const prefix of prefixes) {
    for (const { name } of definitions) {
      const value = layer.get(prefix + name);
      if (value !== undefined) picked.set(name, value);
    }
  }
  return picked;
}

/** Kafka ships the key as repartition.purge.interval.ms; it is the same one under another name. */
function mergePurgeInterval(
  streams: Record<string, unknown>,
  layers: readonly ReadonlyMap<string, unknown>[],
  environment: Readonly<Record<string, string | undefined>>,
  problems: Problem[],
): void {
  const isSet = (name: string, variable: string): boolean =>
    environment[variable] !== undefined || layers.some((layer) => layer.has(name));
  const own = isSet('delete.interval.ms', 'MILLRACE_DELETE_INTERVAL_MS');
  const alias = isSet('repartition.purge.interval.ms', 'MILLRACE_REPARTITION_PURGE_INTERVAL_MS');
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

/** The former names of what the stores are told; the present ones count if both are given. */
function mergeStores(
  streams: Record<string, unknown>,
  layers: readonly ReadonlyMap<string, unknown>[],
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const isSet = (name: string): boolean =>
    environment[`MILLRACE_${name.toUpperCase().replaceAll('.', '_')}`] !== undefined ||
    layers.some((layer) => layer.has(name));
  if (!isSet('statestore.cache.max.bytes')) {
    streams['statestore.cache.max.bytes'] = streams['cache.max.bytes.buffering'];
  }
  streams['cache.max.bytes.buffering'] = streams['statestore.cache.max.bytes'];
  if (!isSet('dsl.store.suppliers.class') && streams['default.dsl.store'] === 'in_memory') {
    streams['dsl.store.suppliers.class'] = 'inMemory';
  }
}

/** Kafka Streams still takes the older names of two handlers; the newer ones count if both are given. */
function mergeHandlers(
  streams: Record<string, unknown>,
  layers: readonly ReadonlyMap<string, unknown>[],
  environment: Readonly<Record<string, string | undefined>>,
): void {
  for (const what of ['deserialization', 'production']) {
    const name = `${what}.exception.handler`;
    const variable = `MILLRACE_${what.toUpperCase()}_EXCEPTION_HANDLER`;
    const isSet = environment[variable] !== undefined || layers.some((layer) => layer.has(name));
    if (!isSet) streams[name] = streams[`default.${name}`];
    streams[`default.${name}`] = streams[name];
  }
}

function checkTogether(consumer: ConsumerValues, problems: Problem[]): void {
  const heartbeat = consumer['heartbeat.interval.ms'];
  const session = consumer['session.timeout.ms'];
  if (heartbeat >= session) {
    problems.push({
      name: 'heartbeat.interval.ms',
      text: `must be below session.timeout.ms (${String(session)}), not ${String(heartbeat)}`,
    });
  }
}

function checkSasl(streams: Readonly<Record<string, unknown>>, problems: Problem[]): void {
  const protocol = streams['security.protocol'];
  if (protocol !== 'SASL_PLAINTEXT' && protocol !== 'SASL_SSL') return;
  for (const name of ['sasl.username', 'sasl.password']) {
    if (streams[name] === null) problems.push({ name, text: `is required under ${protocol}` });
  }
}

function topicDefaults(layers: readonly ReadonlyMap<string, unknown>[]): Map<string, string> {
  const defaults = new Map<string, string>();
  for (const layer of layers) {
    for (const [name, value] of layer) {
      if (name.startsWith('topic.')) defaults.set(name.slice('topic.'.length), String(value));
    }
  }
  return defaults;
}

function withoutEffect(layers: readonly ReadonlyMap<string, unknown>[]): string[] {
  const names = new Set(layers.flatMap((layer) => [...layer.keys()]));
  const silent = [...streamsDefinitions, ...consumerDefinitions, ...producerDefinitions].filter(
    ({ effect }) => !effect,
  );
  return silent.map(({ name }) => name).filter((name) => names.has(name));
}

function configError(problems: readonly Problem[]): ConfigError {
  const lines = [...new Set(problems.map(({ name, text }) => `${name} ${text}`))];
  const count = lines.length === 1 ? 'One thing is' : `${String(lines.length)} things are`;
  return new ConfigError(
    `${count} wrong in the configuration:\n${lines.map((l) => `- ${l}`).join('\n')}`,
    {
      context: { keys: [...new Set(problems.map(({ name }) => name))].join(',') },
    },
  );
}
