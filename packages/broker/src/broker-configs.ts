import { join } from 'node:path';
import { LONG_MAX, LONG_MAX_TEXT, logConfigDefinitions, type Disk } from '@millrace/compaction';
import { brokerConfigDefinitions, type BrokerConfigDefinition } from './config-definitions.ts';
import { parseBrokerConfig, unknownKey, type ParsedBrokerConfig } from './config.ts';
import { DurableFile } from './durable-file.ts';
import { BrokerStartError, ConfigError } from './errors.ts';
import { ConfigOperation, ConfigSource, type ConfigChange } from './topics/topic-config.ts';
import { TopicError } from './topics/topic-error.ts';

const FILE_NAME = 'broker-configs.json';
const FILE_VERSION = 1;

type Entries = ReadonlyMap<string, string>;

/** For whom something is set at run time: this node, or all nodes (which is the same one, but weaker). */
export type ConfigScope = 'node' | 'cluster';

/** One place that sets a value. */
export interface ConfigLayer {
  readonly value: string;
  /** Kafka's code, see `ConfigSource`. */
  readonly source: number;
}

const own: Readonly<Record<string, BrokerConfigDefinition | undefined>> = brokerConfigDefinitions;

/** Broker-wide forms of the topic settings that the cleaner goes by. */
const dynamicTopicDefaults: ReadonlySet<string> = new Set(
  logConfigDefinitions
    .flatMap(({ synonyms }) => synonyms.map(({ name }) => name))
    .filter((name) => name.startsWith('log.cleaner.')),
);

/** Whether a setting of the broker may be changed while it runs. */
export function isDynamic(name: string): boolean {
  return own[name]?.isDynamic === true || dynamicTopicDefaults.has(name);
}

/** What follows from a change, beside the values themselves. */
export interface ConfigListener {
  /** Throws TopicError for values that cannot be; changes nothing. */
  check(next: ParsedBrokerConfig): void;
  /** They are in effect. */
  changed(next: ParsedBrokerConfig): Promise<void>;
}

/**
 * The broker's configuration (KIP-226): what was set at run time for this node, else for all nodes, else
 * given at start. What is set at run time is durable in `<dataDir>/broker-configs.json` before it is
 * acknowledged, and in effect at the next start again.
 */
export class BrokerConfigs {
  /** All that is set, by Kafka's names. The same map always, with what is in effect at the time. */
  readonly effective: Entries;
  readonly #effective: Map<string, string>;
  readonly #static: Entries;
  readonly #scopes: Record<ConfigScope, Entries> = { node: new Map(), cluster: new Map() };
  readonly #file: DurableFile;
  readonly #listeners: ConfigListener[] = [];
  #parsed: ParsedBrokerConfig;
  /** Changes come one after the other. */
  #change: Promise<unknown> = Promise.resolve();

  private constructor(disk: Disk, path: string, atStart: ParsedBrokerConfig) {
    this.#static = atStart.given;
    this.#parsed = atStart;
    this.#effective = new Map(atStart.given);
    this.effective = this.#effective;
    this.#file = new DurableFile(disk, path, () => this.#encode());
  }

  /** Throws BrokerStartError `BROKER_CONFIGS_FILE_INVALID`. */
  static load(disk: Disk, dataDir: string, atStart: ParsedBrokerConfig): BrokerConfigs {
    const path = join(dataDir, FILE_NAME);
    const configs = new BrokerConfigs(disk, path, atStart);
    if (disk.stat(path) === null) return configs;
    try {
      configs.#decode(disk.readFile(path).toString('utf8'));
    } catch (error) {
      throw new BrokerStartError(
        'BROKER_CONFIGS_FILE_INVALID',
        `${path}: ${(error as Error).message}. It holds what was set while the broker ran; correct it, or ` +
          'move it away to go by what is given at start.',
        { cause: error },
      );
    }
    return configs;
  }

  /** As it is in effect. */
  get parsed(): ParsedBrokerConfig {
    return this.#parsed;
  }

  onChange(listener: ConfigListener): void {
    this.#listeners.push(listener);
  }

  /** What was set at run time. */
  entriesOf(scope: ConfigScope): Entries {
    return this.#scopes[scope];
  }

  /** Who sets the value, strongest first; without the default. */
  layersOf(name: string): ConfigLayer[] {
    const layers: ConfigLayer[] = [];
    const add = (entries: Entries, source: number): void => {
      const value = entries.get(name);
      if (value !== undefined) layers.push({ value, source });
    };
    add(this.#scopes.node, ConfigSource.dynamicBroker);
    add(this.#scopes.cluster, ConfigSource.dynamicDefaultBroker);
    add(this.#static, ConfigSource.staticBroker);
    return layers;
  }

  /** Throws TopicError for changes that `alter` would refuse; changes nothing. */
  check(scope: ConfigScope, change: (entries: Entries) => Entries): void {
    this.#prepare(scope, change(this.#scopes[scope]));
  }

  /**
   * Changes what is set at run time: `change` gets it as it is then. Resolves when that is durable and
   * in effect. Rejects with TopicError.
   */
  async alter(scope: ConfigScope, change: (entries: Entries) => Entries): Promise<void> {
    const run = this.#change.then(() => this.#alter(scope, change(this.#scopes[scope])));
    this.#change = run.catch(() => undefined);
    await run;
  }

  async #alter(scope: ConfigScope, entries: Entries): Promise<void> {
    const next = this.#prepare(scope, entries);
    const before = this.#scopes[scope];
    this.#scopes[scope] = entries;
    try {
      await this.#file.save();
    } catch (error) {
      this.#scopes[scope] = before;
      throw new TopicError(
        'KAFKA_STORAGE_ERROR',
        `The configuration could not be saved: ${(error as Error).message}`,
        { cause: error },
      );
    }
    this.#apply(next);
    for (const listener of this.#listeners) await listener.changed(next);
  }

  #prepare(scope: ConfigScope, entries: Entries): ParsedBrokerConfig {
    const fixed = [...entries.keys()].filter((name) => !isDynamic(name));
    if (fixed.length > 0) {
      const isKnown = (name: string): boolean =>
        name in own || logConfigDefinitions.some(({ synonyms }) => isAmong(name, synonyms));
      const unknown = fixed.filter((name) => !isKnown(name)).map(unknownKey);
      throw new TopicError(
        'INVALID_REQUEST',
        unknown.length > 0
          ? unknown.join('; ')
          : `Cannot update these configs dynamically: ${fixed.join(', ')}; give them at start`,
      );
    }
    let next: ParsedBrokerConfig;
    try {
      next = this.#merge({ ...this.#scopes, [scope]: entries });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      throw new TopicError('INVALID_REQUEST', error.problems.join('; '), { cause: error });
    }
    for (const listener of this.#listeners) listener.check(next);
    return next;
  }

  #merge({ node, cluster }: Readonly<Record<ConfigScope, Entries>>): ParsedBrokerConfig {
    return parseBrokerConfig(Object.fromEntries([...this.#static, ...cluster, ...node]));
  }

  #apply(next: ParsedBrokerConfig): void {
    this.#parsed = next;
    this.#effective.clear();
    for (const [name, value] of next.given) this.#effective.set(name, value);
  }

  #encode(): string {
    const content = {
      version: FILE_VERSION,
      node: Object.fromEntries(this.#scopes.node),
      cluster: Object.fromEntries(this.#scopes.cluster),
    };
    return `${JSON.stringify(content, null, 1)}\n`;
  }

  #decode(text: string): void {
    const content = JSON.parse(text) as Record<string, unknown> | null;
    if (content?.['version'] !== FILE_VERSION) {
      throw new Error(`has no version ${FILE_VERSION}, which this release reads`);
    }
    for (const scope of ['node', 'cluster'] as const) {
      const entries: unknown = content[scope];
      if (!isTexts(entries)) throw new Error(`has no settings under '${scope}'`);
      const fixed = Object.keys(entries).filter((name) => !isDynamic(name));
      if (fixed.length > 0)
        throw new Error(`sets ${fixed.join(', ')}, which is given at start only`);
      this.#scopes[scope] = new Map(Object.entries(entries));
    }
    this.#apply(this.#merge(this.#scopes));
  }
}

function isTexts(value: unknown): value is Record<string, string> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((text) => typeof text === 'string')
  );
}

function isAmong(name: string, synonyms: readonly { readonly name: string }[]): boolean {
  return synonyms.some((synonym) => synonym.name === name);
}

/** What is set after KIP-339's operations. Throws TopicError. */
export function applyBrokerChanges(
  entries: Entries,
  changes: readonly ConfigChange[],
): Map<string, string> {
  const result = new Map(entries);
  const seen = new Set<string>();
  for (const { name, configOperation, value } of changes) {
    if (seen.has(name)) {
      throw new TopicError('INVALID_REQUEST', 'Error due to duplicate config keys');
    }
    seen.add(name);
    switch (configOperation) {
      case ConfigOperation.delete:
        result.delete(name);
        break;
      case ConfigOperation.set:
        if (value === null) {
          throw new TopicError('INVALID_REQUEST', `Null value not supported for : ${name}`);
        }
        result.set(name, value.trim());
        break;
      case ConfigOperation.append:
      case ConfigOperation.subtract:
        // None of what can be changed is a list.
        throw new TopicError(
          'INVALID_CONFIG',
          `Config value append or subtract is not allowed for config key: ${name}`,
        );
      default:
        throw new TopicError(
          'INVALID_REQUEST',
          `Unknown operation ${configOperation} on config ${name}`,
        );
    }
  }
  return result;
}

/** A default as Kafka writes it. */
export function defaultText({ kind, default: value }: BrokerConfigDefinition): string {
  if (value === Number.MAX_VALUE && kind === 'double') return JAVA_MAX_DOUBLE;
  return value === LONG_MAX ? LONG_MAX_TEXT : String(value);
}

const JAVA_MAX_DOUBLE = '1.7976931348623157E308';
