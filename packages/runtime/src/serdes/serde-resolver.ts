import { TopologyError } from '../errors.ts';
import { toRecordSerde } from './custom-serde.ts';
import type { RecordSerde, Serde } from './serde.ts';

type AnySerde = Serde<unknown> | null;

/**
 * Fills serdes that were not given with the defaults, while a topology is bound, and gathers every
 * one that is missing, so that one error names them all.
 */
export class SerdeResolver {
  readonly #defaultKey: AnySerde;
  readonly #defaultValue: AnySerde;
  readonly #missing: string[] = [];

  constructor(defaultKey: AnySerde, defaultValue: AnySerde) {
    this.#defaultKey = defaultKey;
    this.#defaultValue = defaultValue;
  }

  /** `owner` is the node or store that asks, `topic` what a serde of the user's own is told. */
  key(given: AnySerde, owner: string, topic: string): RecordSerde<unknown> {
    return this.#resolve('key', given ?? this.#defaultKey, owner, topic);
  }

  value(given: AnySerde, owner: string, topic: string): RecordSerde<unknown> {
    return this.#resolve('value', given ?? this.#defaultValue, owner, topic);
  }

  throwIfMissing(): void {
    if (this.#missing.length > 0) {
      throw new TopologyError(`Serdes are missing.\n${this.#missing.join('\n')}`);
    }
  }

  #resolve(
    what: 'key' | 'value',
    serde: AnySerde,
    owner: string,
    topic: string,
  ): RecordSerde<unknown> {
    if (serde !== null) return toRecordSerde(serde, topic);
    const option = what === 'key' ? 'defaultKeySerde' : 'defaultValueSerde';
    const setting = `default.${what}.serde`;
    this.#missing.push(
      `  ${owner} has no ${what} serde: give "${what}" in the options of that operator ` +
        `(or of the one before it), ${option} to the StreamsBuilder, or ${setting} in the configuration.`,
    );
    return unresolved;
  }
}

function refuse(): never {
  throw new TopologyError('A serde is missing.');
}

const unresolved: RecordSerde<unknown> = {
  name: 'missing',
  serialize: refuse,
  deserialize: refuse,
  write: refuse,
  read: refuse,
};
