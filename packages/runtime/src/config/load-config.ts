import { ConfigError } from '../errors.ts';
import { SECURITY_SUGGESTION_MAX_DISTANCE, SUGGESTION_MAX_DISTANCE } from '../limits.ts';
import { applyGuarantee } from './processing-guarantee.ts';
import { checkTogether } from './check-together.ts';
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
import { GivenKeys, isBelowOpenPrefix, knownNames } from './given-keys.ts';
import { nearestName } from './nearest-name.ts';
import { mergeOtherNames } from './other-names.ts';
import { StreamsConfig } from './streams-config.ts';
import { streamsDefinitions } from './streams-definitions.ts';

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

  const given = new GivenKeys(layers, environment);
  mergeOtherNames(streams, given, problems);
  applyGuarantee({ streams, consumers: [mainConsumer, restoreConsumer, globalConsumer] }, given);
  checkTogether({ streams, mainConsumer, producer }, given, problems);
  if (problems.length > 0) throw configError(problems);
  return new StreamsConfig({
    streams: streams as unknown as StreamsValues,
    mainConsumer,
    restoreConsumer,
    globalConsumer,
    producer,
    topicDefaults: topicDefaults(given),
    withoutEffect: given.withoutEffect(),
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

function findUnknown(layer: ReadonlyMap<string, unknown>, problems: Problem[]): void {
  const known = knownNames();
  for (const name of layer.keys()) {
    if (known.has(name) || isBelowOpenPrefix(name)) continue;
    problems.push({ name, text: `is not known${hint(name, known)}` });
  }
}

function hint(name: string, known: Iterable<string>): string {
  const isSecurity = /(^|\.)(ssl|sasl)\./.test(name);
  const maxDistance = isSecurity ? SECURITY_SUGGESTION_MAX_DISTANCE : SUGGESTION_MAX_DISTANCE;
  const nearest = nearestName(name, known, maxDistance);
  if (nearest !== null) return `; did you mean ${nearest}?`;
  if (!isSecurity) return '';
  return '; certificates and other mechanisms come with a Kafka instance: new KafkaStreams(topology, config, { kafka })';
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

function topicDefaults(given: GivenKeys): Map<string, string> {
  return new Map([...given.below('topic.')].map(([name, value]) => [name, String(value)]));
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
