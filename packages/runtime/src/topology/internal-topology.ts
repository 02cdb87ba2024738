import type { StreamPartitioner } from '../operators/record-collector.ts';
import { TopologyError } from '../errors.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import type { Serde } from '../serdes/serde.ts';
import type { TopicNameExtractor } from '../operators/topic-name-extractor.ts';
import type { StoreBuilder } from '../state/store.ts';
import { isTopicName, TOPIC_NAME_RULE } from './topic-name.ts';
import { GeneratedNames } from './explicit-names.ts';
import type { OffsetReset, TimestampExtractor } from './built-topology.ts';
import { matchesTopic } from './topic-pattern.ts';
import { UnionFind } from './union-find.ts';

/** A serde of whatever type; null means the topology's default. */
export type OptionalSerde = Serde<unknown> | null;

export interface SourceSpec {
  readonly kind: 'source';
  readonly name: string;
  /** Internal topics stand here without the application's prefix; empty with a pattern. */
  readonly topics: readonly string[];
  /** Every topic whose whole name matches is read, also those that are created later. */
  readonly pattern?: RegExp | null;
  /** Every instance of the application reads all of its one topic, into the store of the one node below. */
  readonly isGlobal?: boolean;
  readonly keySerde: OptionalSerde;
  readonly valueSerde: OptionalSerde;
  /** null: the application's default extractor. */
  readonly timestampExtractor: TimestampExtractor | null;
  readonly offsetReset: OffsetReset | null;
  /** Values are changes of a table, old and new value in one. */
  readonly carriesChanges?: boolean;
}

export interface ProcessorSpec {
  readonly kind: 'processor';
  readonly name: string;
  readonly predecessors: readonly string[];
  /** Makes one task's node. */
  readonly create: (name: string) => ProcessorNode;
  /** Names of the stores that it may use, in the order in which they were connected. */
  readonly stores: Set<string>;
}

export interface SinkSpec {
  readonly kind: 'sink';
  readonly name: string;
  readonly predecessors: readonly string[];
  /** A function names the topic of each record. */
  readonly topic: string | TopicNameExtractor<never, never>;
  readonly keySerde: OptionalSerde;
  readonly valueSerde: OptionalSerde;
  readonly partitioner: StreamPartitioner<never, never> | null;
  /** Values are changes of a table, old and new value in one. */
  readonly carriesChanges?: boolean;
}

export type NodeSpec = SourceSpec | ProcessorSpec | SinkSpec;

export interface StoreSpec {
  readonly builder: StoreBuilder;
  /** Names of the processors that use it. */
  readonly users: Set<string>;
  /** A source topic that serves as its changelog. */
  readonly sourceTopic: string | null;
}

/**
 * A topology as nodes and stores by name, in the order in which they were added, before it is bound
 * to an application. Names and topics are checked as they are added.
 */
export class InternalTopology {
  readonly nodes = new Map<string, NodeSpec>();
  readonly stores = new Map<string, StoreSpec>();
  /** Names without prefix, and the partition count that the user asked for, if any. */
  readonly internalTopics = new Map<string, number | null>();
  /** Names of sources whose topics must have equally many partitions. */
  readonly copartitionedSources: ReadonlySet<string>[] = [];
  /** Names of the stores that no task owns. */
  readonly globalStores = new Set<string>();
  readonly generatedNames = new GeneratedNames();
  /** What is right, but may not be what was meant. */
  readonly hints: string[] = [];
  /** Nodes that are connected, or share a store, run in one task. */
  readonly groups = new UnionFind();
  readonly #sourceOfTopic = new Map<string, string>();
  readonly #patterns = new Map<string, RegExp>();

  addSource(spec: SourceSpec): void {
    this.#checkNew(spec.name);
    const pattern = spec.pattern ?? null;
    if (pattern !== null) this.#addPattern(spec.name, pattern);
    else if (spec.topics.length === 0) {
      throw new TopologyError(`The source ${spec.name} has no topic: give at least one.`);
    }
    for (const topic of spec.topics) this.#addSourceTopic(spec.name, topic);
    this.nodes.set(spec.name, spec);
    this.groups.add(spec.name);
  }

  addProcessor(
    name: string,
    create: (name: string) => ProcessorNode,
    predecessors: readonly string[],
  ): void {
    this.#addChild({ kind: 'processor', name, predecessors, create, stores: new Set() });
  }

  addSink(spec: SinkSpec): void {
    if (typeof spec.topic === 'string') checkTopicName(`The sink ${spec.name}`, spec.topic);
    this.#addChild(spec);
  }

  addStore(
    builder: StoreBuilder,
    users: readonly string[],
    sourceTopic: string | null = null,
  ): void {
    const known = this.stores.get(builder.name);
    if (known !== undefined && known.builder !== builder) {
      throw new TopologyError(
        `A store named ${builder.name} is already added: choose another name.`,
      );
    }
    if (known === undefined) {
      this.stores.set(builder.name, { builder, users: new Set(), sourceTopic });
    }
    this.connectStores(users, [builder.name]);
  }

  connectStores(users: readonly string[], stores: readonly string[]): void {
    for (const store of stores) {
      for (const user of users) this.#connectStore(user, store);
    }
  }

  addInternalTopic(name: string, partitionCount: number | null): void {
    this.internalTopics.set(name, partitionCount);
  }

  copartitionSources(sources: ReadonlySet<string>): void {
    this.copartitionedSources.push(sources);
  }

  /** A repartition step of a join has become part of another one. */
  renameCopartitionedSource(from: string, to: string): void {
    for (const [i, sources] of this.copartitionedSources.entries()) {
      if (!sources.has(from)) continue;
      const renamed = [...sources].map((source) => (source === from ? to : source));
      this.copartitionedSources[i] = new Set(renamed);
    }
  }

  /** A store that every instance fills with all of a topic, through one node (KIP-99). */
  addGlobalStore(
    source: SourceSpec,
    name: string,
    create: (name: string) => ProcessorNode,
    builder: StoreBuilder,
  ): void {
    this.addSource({ ...source, isGlobal: true });
    this.addProcessor(name, create, [source.name]);
    this.addStore(builder, [name]);
    this.globalStores.add(builder.name);
  }

  source(name: string): SourceSpec {
    const node = this.nodes.get(name);
    if (node?.kind !== 'source') throw new TopologyError(`There is no source named ${name}.`);
    return node;
  }

  #addSourceTopic(source: string, topic: string): void {
    checkTopicName(`The source ${source}`, topic);
    const other = this.#sourceOfTopic.get(topic);
    if (other !== undefined) {
      throw new TopologyError(
        `The topic ${topic} has already been registered by another source (${other}), and ${source} ` +
          'reads it too: read it once, and use that stream or table in both places.',
      );
    }
    for (const [name, pattern] of this.#patterns) {
      if (!matchesTopic(pattern, topic)) continue;
      throw new TopologyError(
        `The topic ${topic} of the source ${source} matches the pattern ${pattern.source}, which is already ` +
          `registered by the source ${name}: let the pattern leave it out, or read it through the pattern only.`,
      );
    }
    this.#sourceOfTopic.set(topic, source);
  }

  #addPattern(source: string, pattern: RegExp): void {
    for (const [topic, other] of this.#sourceOfTopic) {
      if (!matchesTopic(pattern, topic)) continue;
      throw new TopologyError(
        `The pattern ${pattern.source} of the source ${source} will match the topic ${topic}, which has already been ` +
          `registered by another source (${other}): let the pattern leave it out.`,
      );
    }
    this.#patterns.set(source, pattern);
  }

  #addChild(spec: ProcessorSpec | SinkSpec): void {
    this.#checkNew(spec.name);
    if (spec.predecessors.length === 0) {
      throw new TopologyError(`The node ${spec.name} has no parent: name at least one.`);
    }
    for (const predecessor of spec.predecessors) {
      if (predecessor === spec.name) {
        throw new TopologyError(`The node ${spec.name} cannot be its own parent.`);
      }
      const parent = this.nodes.get(predecessor);
      if (parent === undefined) {
        throw new TopologyError(
          `The node ${spec.name} names ${predecessor} as parent, but no such node is added yet.`,
        );
      }
      if (parent.kind === 'sink') {
        throw new TopologyError(`The sink ${predecessor} cannot be the parent of ${spec.name}.`);
      }
    }
    this.nodes.set(spec.name, spec);
    this.groups.add(spec.name);
    for (const predecessor of spec.predecessors) this.groups.unite(spec.name, predecessor);
  }

  #checkNew(name: string): void {
    if (name === '') throw new TopologyError("A node's name can't be empty.");
    if (this.nodes.has(name)) {
      throw new TopologyError(
        `A node named ${name} is already added: give one of the two operators another name.`,
      );
    }
  }

  #connectStore(user: string, store: string): void {
    if (this.globalStores.has(store)) {
      throw new TopologyError(
        `The node ${user} is connected to the global store ${store}: every node can use it without that, so leave it out.`,
      );
    }
    const spec = this.stores.get(store);
    if (spec === undefined) {
      throw new TopologyError(
        `The node ${user} uses the store ${store}, which is not added yet: give its builder to addStateStore() first.`,
      );
    }
    const node = this.nodes.get(user);
    if (node?.kind !== 'processor') {
      throw new TopologyError(
        `The store ${store} is connected to ${user}, which is ${node === undefined ? 'not added yet' : `a ${node.kind}`}: only processors have stores.`,
      );
    }
    const [first] = spec.users;
    if (first !== undefined) this.groups.unite(first, user);
    spec.users.add(user);
    node.stores.add(store);
  }
}

function checkTopicName(node: string, topic: string): void {
  if (isTopicName(topic)) return;
  throw new TopologyError(
    `${node} has the topic "${topic}", which is no topic name: give it ${TOPIC_NAME_RULE}.`,
  );
}
