import type {
  DeserializationHandling,
  ProcessingHandling,
  ProductionHandling,
} from '../error-handlers.ts';
import type { Serde } from '../serdes/serde.ts';
import type { TimestampExtractor } from '../topology/built-topology.ts';
import { optimizationProblem } from '../topology/optimize.ts';
import { isTopicName, TOPIC_NAME_RULE } from '../topology/topic-name.ts';

/** How a value is written, checked and typed. Names that end in `.ms` also take durations such as `5m`. */
export interface ConfigTypes {
  string: string;
  nullableString: string | null;
  boolean: boolean;
  int: number;
  long: number;
  nullableInt: number | null;
  nullableLong: number | null;
  double: number;
  list: readonly string[];
  deserializationHandler: DeserializationHandling;
  processingHandler: ProcessingHandling;
  productionHandler: ProductionHandling;
  timestampExtractor: TimestampExtractor | null;
  serde: Serde<never> | null;
}

export type ConfigType = keyof ConfigTypes;

/** A range or choice: `text` is what an error shows. */
export interface Allowed {
  readonly text: string;
  readonly accepts: (value: unknown) => boolean;
}

type Importance = 'high' | 'medium' | 'low';

/**
 * One configuration key. `effect` is false for keys of Kafka Streams that are accepted, so that a
 * configuration can be carried over, but change nothing here: `doc` says why.
 */
export interface Definition<N extends string = string, T extends ConfigType = ConfigType> {
  readonly name: N;
  readonly type: T;
  readonly default: ConfigTypes[T];
  readonly isRequired: boolean;
  readonly allowed: Allowed | null;
  readonly importance: Importance;
  readonly doc: string;
  readonly effect: boolean;
}

export interface DefinitionOptions {
  readonly allowed?: Allowed;
  readonly importance?: Importance;
  readonly isRequired?: boolean;
  readonly effect?: boolean;
}

export function define<const N extends string, const T extends ConfigType>(
  name: N,
  type: T,
  defaultValue: ConfigTypes[T],
  doc: string,
  options: DefinitionOptions = {},
): Definition<N, T> {
  return {
    name,
    type,
    default: defaultValue,
    doc,
    isRequired: options.isRequired ?? false,
    allowed: options.allowed ?? null,
    importance: options.importance ?? 'low',
    effect: options.effect ?? true,
  };
}

export function atLeast(min: number): Allowed {
  return { text: `≥ ${String(min)}`, accepts: (value) => (value as number) >= min };
}

export function oneOf(...choices: readonly (string | null)[]): Allowed {
  return {
    text: `one of ${choices.map(String).join(', ')}`,
    accepts: (value) => choices.includes(value as string | null),
  };
}

export function atMostEntries(max: number): Allowed {
  return {
    text: `at most ${String(max)} entries`,
    accepts: (value) => (value as readonly string[]).length <= max,
  };
}

export function minusOneOrAtLeastOne(): Allowed {
  return { text: '-1 or ≥ 1', accepts: (value) => value === -1 || (value as number) >= 1 };
}

/** At least one; IPv6 addresses in brackets. */
export function hostPorts(): Allowed {
  return {
    text: 'host:port, one or more',
    accepts: (value) => {
      const entries = value as readonly string[];
      return entries.length > 0 && entries.every((entry) => HOST_PORT.test(entry));
    },
  };
}

const HOST_PORT = /^(\[[0-9a-f:.%]+\]|[^\s:/[\]]+):\d{1,5}$/i;

/** What `topology.optimization` takes. */
export function optimizations(): Allowed {
  return {
    text: 'none, all, or a list of names with commas',
    accepts: (value) => optimizationProblem(value as string) === null,
  };
}

export function notEmpty(): Allowed {
  return { text: 'not empty', accepts: (value) => (value as { length: number }).length > 0 };
}

/** A topic name's characters, because the id is part of every internal topic's name. */
export function topicNamePart(): Allowed {
  return {
    text: '1 to 200 letters, digits, dots, underscores and hyphens',
    accepts: (value) => /^[A-Za-z0-9._-]{1,200}$/.test(value as string),
  };
}

export function topicNameOrNull(): Allowed {
  return {
    text: `${TOPIC_NAME_RULE}, or null`,
    accepts: (value) => value === null || isTopicName(value as string),
  };
}

export function hostPortOrEmpty(): Allowed {
  return {
    text: 'empty, host:port or protocol://host:port',
    accepts: (value) => value === '' || /^([a-z]+:\/\/)?[^\s:/]+:\d{1,5}$/i.test(value as string),
  };
}
