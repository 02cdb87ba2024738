import {
  consumerDefinitions,
  producerDefinitions,
  sharedClientNames,
} from './client-definitions.ts';
import { environmentName } from './convict-layer.ts';
import { streamsDefinitions } from './streams-definitions.ts';

const consumerPrefixes = ['consumer.', 'main.consumer.', 'restore.consumer.', 'global.consumer.'];
const producerPrefixes = ['producer.'];
/** Any name may follow: topic configs and tags are not ours to know, and admin keys have no effect. */
const openPrefixes = ['topic.', 'client.tag.', 'admin.'];
const openWithoutEffect = ['client.tag.', 'admin.'];

type Layer = ReadonlyMap<string, unknown>;

/** What somebody set, wherever it was. */
export class GivenKeys {
  readonly #layers: readonly Layer[];
  readonly #environment: Readonly<Record<string, string | undefined>>;

  constructor(layers: readonly Layer[], environment: Readonly<Record<string, string | undefined>>) {
    this.#layers = layers;
    this.#environment = environment;
  }

  /** Whether the key of an application was set, as against having its default. */
  has(name: string): boolean {
    return (
      this.#environment[environmentName(name)] !== undefined ||
      this.#layers.some((layer) => layer.has(name))
    );
  }

  /** Whether a key of the producer was set, bare or under its prefix. */
  hasProducer(name: string): boolean {
    return ['', ...producerPrefixes].some((prefix) => this.has(prefix + name));
  }

  /** What was given under a prefix, without it; a later layer counts for more. */
  below(prefix: string): ReadonlyMap<string, unknown> {
    const found = new Map<string, unknown>();
    for (const layer of this.#layers) {
      for (const [name, value] of layer) {
        if (name.startsWith(prefix)) found.set(name.slice(prefix.length), value);
      }
    }
    return found;
  }

  /** Keys that were set although they change nothing here. */
  withoutEffect(): string[] {
    const silent = [
      ...silentNames(streamsDefinitions, ['']),
      ...silentNames(consumerDefinitions, ['', ...consumerPrefixes]),
      ...silentNames(producerDefinitions, ['', ...producerPrefixes]),
      ...prefixed(sharedClientNames, [...consumerPrefixes, ...producerPrefixes]),
    ];
    const open = openWithoutEffect.flatMap((prefix) =>
      [...this.below(prefix).keys()].map((name) => prefix + name),
    );
    return [...new Set([...silent.filter((name) => this.has(name)), ...open])];
  }
}

/** Every name that may be given, apart from those below an open prefix. */
export function knownNames(): Set<string> {
  return new Set([
    ...streamsDefinitions.map(({ name }) => name),
    ...prefixed(namesOf(consumerDefinitions), ['', ...consumerPrefixes]),
    ...prefixed(namesOf(producerDefinitions), ['', ...producerPrefixes]),
    ...prefixed(sharedClientNames, [...consumerPrefixes, ...producerPrefixes]),
  ]);
}

export function isBelowOpenPrefix(name: string): boolean {
  return openPrefixes.some((prefix) => name.startsWith(prefix));
}

interface Named {
  readonly name: string;
  readonly effect: boolean;
}

function namesOf(definitions: readonly Named[]): string[] {
  return definitions.map(({ name }) => name);
}

function silentNames(definitions: readonly Named[], prefixes: readonly string[]): string[] {
  return prefixed(namesOf(definitions.filter(({ effect }) => !effect)), prefixes);
}

function prefixed(names: readonly string[], prefixes: readonly string[]): string[] {
  return prefixes.flatMap((prefix) => names.map((name) => prefix + name));
}
