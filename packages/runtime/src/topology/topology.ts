import { TopologyError } from '../errors.ts';
import type { StreamPartitioner } from '../operators/record-collector.ts';
import type { ProcessorSupplier } from '../operators/processor-api.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import type { TopicNameExtractor } from '../operators/topic-name-extractor.ts';
import type { Serde } from '../serdes/serde.ts';
import type { StoreBuilder } from '../state/store.ts';
import { bindInternalTopology, type BindOptions } from './bind.ts';
import type { BuiltTopology, OffsetReset, TimestampExtractor } from './built-topology.ts';
import { describeTopology, type TopologyDescription } from './describe.ts';
import { InternalTopology, type OptionalSerde, type SourceSpec } from './internal-topology.ts';
import { validName } from './naming.ts';
import { refuseOtherStores, suppliedNode } from './supplied-node.ts';

/** Serdes of everything that names none and inherits none. */
export interface DefaultSerdes {
  readonly key?: OptionalSerde;
  readonly value?: OptionalSerde;
}

export interface TopologySourceOptions<K, V> {
  readonly key?: Serde<K>;
  readonly value?: Serde<V>;
  readonly timestampExtractor?: TimestampExtractor;
  readonly offsetReset?: OffsetReset;
}

export interface TopologySinkOptions<K, V> {
  readonly key?: Serde<K>;
  readonly value?: Serde<V>;
  readonly partitioner?: StreamPartitioner<K, V>;
}

const internals = new WeakMap<Topology, { topology: InternalTopology; defaults: DefaultSerdes }>();

/**
 * A topology of named nodes. `StreamsBuilder.build()` makes one; it can also be put together by hand.
 */
export class Topology {
  constructor(defaults: DefaultSerdes = {}) {
    internals.set(this, { topology: new InternalTopology(), defaults });
  }

  addSource<K, V>(
    name: string,
    topics: string | readonly string[] | RegExp,
    options: TopologySourceOptions<K, V> = {},
  ): this {
    internalTopology(this).addSource({
      kind: 'source',
      name: validName(name),
      topics: topics instanceof RegExp ? [] : typeof topics === 'string' ? [topics] : topics,
      pattern: topics instanceof RegExp ? topics : null,
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      timestampExtractor: options.timestampExtractor ?? null,
      offsetReset: options.offsetReset ?? null,
    });
    return this;
  }

  /** `create` makes one task's node. */
  addProcessor(
    name: string,
    create: (name: string) => ProcessorNode,
    ...parents: readonly string[]
  ): this;
  /** The supplier makes one task's processor; the stores that it brings are added and connected. */
  addProcessor<K, V, KR = K, VR = V>(
    name: string,
    supplier: ProcessorSupplier<K, V, KR, VR>,
    ...parents: readonly string[]
  ): this;
  addProcessor(
    name: string,
    supplier: ProcessorSupplier<never, never, unknown, unknown> | ((name: string) => ProcessorNode),
    ...parents: readonly string[]
  ): this {
    const topology = internalTopology(this);
    const { create, stores } = suppliedNode(supplier, `the processor ${name}`, false);
    topology.addProcessor(validName(name), create, parents);
    for (const store of stores) topology.addStore(store, [name]);
    return this;
  }

  /** A function instead of a topic's name chooses the topic of each record. */
  addSink<K, V>(
    name: string,
    topic: string | TopicNameExtractor<K, V>,
    options: TopologySinkOptions<K, V>,
    ...parents: readonly string[]
  ): this {
    internalTopology(this).addSink({
      kind: 'sink',
      name: validName(name),
      predecessors: parents,
      topic,
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      partitioner: options.partitioner ?? null,
    });
    return this;
  }

  /**
   * A store that every instance of the application fills with all of a topic, through a processor that
   * alone writes it. Its builder must have no changelog, because the topic is one.
   */
  addGlobalStore<K, V>(
    store: StoreBuilder,
    sourceName: string,
    topic: string,
    processorName: string,
    supplier: ProcessorSupplier<K, V, never, never>,
    options: Omit<TopologySourceOptions<K, V>, 'offsetReset'> = {},
  ): this {
    if (store.isLogged) {
      throw new TopologyError(
        `The store ${store.name} is to be a global store, but has a changelog: build it with logging: false.`,
      );
    }
    const name = validName(processorName);
    const { create, stores } = suppliedNode(supplier, `the processor ${name}`, false);
    refuseOtherStores(name, stores);
    const source: SourceSpec = {
      kind: 'source',
      name: validName(sourceName),
      topics: [topic],
      keySerde: options.key ?? null,
      valueSerde: options.value ?? null,
      timestampExtractor: options.timestampExtractor ?? null,
      offsetReset: null,
    };
    internalTopology(this).addGlobalStore(source, name, create, store);
    return this;
  }

  addStateStore(builder: StoreBuilder, ...processors: readonly string[]): this {
    internalTopology(this).addStore(builder, processors);
    return this;
  }

  connectProcessorAndStateStores(processor: string, ...stores: readonly string[]): this {
    internalTopology(this).connectStores([processor], stores);
    return this;
  }

  /** `toString()` of the result is Kafka Streams' text, byte for byte. */
  describe(): TopologyDescription {
    return describeTopology(internalTopology(this));
  }
}

/** The parts behind a topology; for the DSL and for binding, not for users. */
export function internalTopology(topology: Topology): InternalTopology {
  return (internals.get(topology) as { topology: InternalTopology }).topology;
}

/**
 * A topology with its application's names, ready for tasks. Default serdes given here stand in for
 * those given when it was built. Throws one TopologyError that names every node without a serde.
 */
export function bindTopology(topology: Topology, options: BindOptions): BuiltTopology {
  const { defaults } = internals.get(topology) as { defaults: DefaultSerdes };
  return bindInternalTopology(internalTopology(topology), {
    ...options,
    defaultKeySerde: defaults.key ?? options.defaultKeySerde ?? null,
    defaultValueSerde: defaults.value ?? options.defaultValueSerde ?? null,
  });
}
