import type { consumerDefinitions, producerDefinitions } from './client-definitions.ts';
import type { ConfigTypes, Definition } from './definition.ts';
import type { streamsDefinitions } from './streams-definitions.ts';

type Values<D extends readonly Definition[]> = {
  readonly [E in D[number] as E['name']]: ConfigTypes[E['type']];
};

export type StreamsValues = Values<typeof streamsDefinitions>;
export type ConsumerValues = Values<typeof consumerDefinitions>;
export type ProducerValues = Values<typeof producerDefinitions>;

/** What may be written for a value: text stands for numbers, durations and lists, as in a file. */
type Written<V> = V extends number
  ? number | string
  : V extends readonly string[]
    ? V | string
    : V extends boolean
      ? boolean | 'true' | 'false'
      : V;

type Input<V> = { readonly [K in keyof V]?: Written<V[K]> };

/** Keys with a prefix: `consumer.`, `main.consumer.`, `restore.consumer.`, `producer.`, `admin.`, `topic.` ... */
type Prefixed = {
  readonly [
    K in `${'consumer' | 'main.consumer' | 'restore.consumer' | 'global.consumer' | 'producer' | 'admin' | 'topic' | 'client.tag'}.${string}`
  ]?: string | number | boolean;
};

/** A configuration under Kafka's names, as the constructor of KafkaStreams takes it. */
export type StreamsConfigInput = Input<StreamsValues> &
  Input<ConsumerValues> &
  Input<ProducerValues> &
  Prefixed;
