import type { ConsumerValues, ProducerValues, StreamsValues } from './config-input.ts';

/** A complete and valid configuration: every key has its value. */
export class StreamsConfig {
  readonly #streams: StreamsValues;
  /** Main and restore consumer: `main.consumer.` / `restore.consumer.` over `consumer.` over bare. */
  readonly mainConsumer: ConsumerValues;
  readonly restoreConsumer: ConsumerValues;
  /** Of global topics: `global.consumer.` over `consumer.` over bare. */
  readonly globalConsumer: ConsumerValues;
  readonly producer: ProducerValues;
  /** From `topic.`: defaults of internal topics. */
  readonly topicDefaults: ReadonlyMap<string, string>;
  /** Keys that somebody set although they change nothing here; worth one line in the log. */
  readonly withoutEffect: readonly string[];

  constructor(parts: {
    readonly streams: StreamsValues;
    readonly mainConsumer: ConsumerValues;
    readonly restoreConsumer: ConsumerValues;
    readonly globalConsumer: ConsumerValues;
    readonly producer: ProducerValues;
    readonly topicDefaults: ReadonlyMap<string, string>;
    readonly withoutEffect: readonly string[];
  }) {
    this.#streams = parts.streams;
    this.mainConsumer = parts.mainConsumer;
    this.restoreConsumer = parts.restoreConsumer;
    this.globalConsumer = parts.globalConsumer;
    this.producer = parts.producer;
    this.topicDefaults = parts.topicDefaults;
    this.withoutEffect = parts.withoutEffect;
  }

  get<K extends keyof StreamsValues>(name: K): StreamsValues[K] {
    return this.#streams[name];
  }

  /** `processing.guarantee` is exactly_once_v2. */
  get isExactlyOnce(): boolean {
    return this.get('processing.guarantee') === 'exactly_once_v2';
  }

  /** Everything under its name, for those who look by themselves. */
  get all(): Readonly<StreamsValues> {
    return this.#streams;
  }
}
