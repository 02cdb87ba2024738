import type { StreamPartitioner } from '../operators/record-collector.ts';
import { InvariantError, TopologyError } from '../errors.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import { DynamicSinkOperator } from '../operators/dynamic-sink.ts';
import { isStoreUser } from '../operators/user-context.ts';
import { SinkOperator } from '../operators/sink.ts';
import { SourceOperator } from '../operators/source.ts';
import type { TopicNameExtractor } from '../operators/topic-name-extractor.ts';
import { changeSerde } from '../serdes/change.ts';
import { SerdeResolver } from '../serdes/serde-resolver.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import { changelogTopic } from '../state/store-builders.ts';
import { isTopicName, TOPIC_NAME_RULE } from './topic-name.ts';
import type { StateStore, StoreSettings, StoreType } from '../state/store.ts';
import type {
  BuiltTopology,
  Changelog,
  GlobalTopology,
  InternalTopic,
  OffsetReset,
  SourceNode,
  Subtopology,
  TaskTopology,
  TimestampExtractor,
} from './built-topology.ts';
import type {
  InternalTopology,
  NodeSpec,
  OptionalSerde,
  SinkSpec,
  SourceSpec,
} from './internal-topology.ts';
import { nodeGroups, type NodeGroup } from './subtopologies.ts';
import { TopicNames } from './topic-names.ts';

/** Kafka Streams' default of `windowstore.changelog.additional.retention.ms`: one day. */
const ADDITIONAL_RETENTION_DEFAULT_MS = 86_400_000;

/** Stands for the topic of a serde whose sink has any. */
const DYNAMIC_TOPIC = '(any)';

/** Configs of every repartition topic; records are kept until they are purged. */
const REPARTITION_CONFIG: ReadonlyMap<string, string> = new Map([
  ['message.timestamp.type', 'CreateTime'],
  ['cleanup.policy', 'delete'],
  ['segment.bytes', '52428800'],
  ['retention.ms', '-1'],
]);

export interface BindOptions {
  readonly applicationId: string;
  readonly defaultKeySerde?: OptionalSerde;
  readonly defaultValueSerde?: OptionalSerde;
  /** Of sources that name none; repartition topics always keep the records' own time. */
  readonly defaultTimestampExtractor?: TimestampExtractor | null;
  /** `ensure.explicit.internal.resource.naming`: refuses stores and internal topics without a name of their own. */
  readonly ensureExplicitNames?: boolean;
  /** `windowstore.changelog.additional.retention.ms`, default one day. */
  readonly changelogAdditionalRetentionMs?: number;
  /** `dsl.store.suppliers.class`, default persistent. */
  readonly storeType?: StoreType;
  /** `dsl.store.format`. */
  readonly storeFormat?: 'DEFAULT' | 'HEADERS';
  /** `statestore.cache.max.bytes`; if it is 0, the default here, no store has a record cache. */
  readonly cacheMaxBytes?: number;
  /** False if somebody may ask for the value of a record that a node failed on; by default values that no node looks at are not read. */
  readonly skipsIgnoredValues?: boolean;
  /** Persistent stores are on disk; by default they only behave like it. */
  readonly isOnDisk?: boolean;
}

/** Sources by pattern read other topics when others have matched. */
type MakeNode = (topics: TopicNames) => ProcessorNode;

/** Binds a topology to an application: full topic names, serdes resolved. Throws one TopologyError for all missing serdes. */
export function bindInternalTopology(
  topology: InternalTopology,
  options: BindOptions,
): BuiltTopology {
  if (options.ensureExplicitNames === true) topology.generatedNames.refuse();
  const serdes = new SerdeResolver(
    options.defaultKeySerde ?? null,
    options.defaultValueSerde ?? null,
  );
  const settings: StoreSettings = {
    applicationId: options.applicationId,
    serdes,
    changelogAdditionalRetentionMs:
      options.changelogAdditionalRetentionMs ?? ADDITIONAL_RETENTION_DEFAULT_MS,
    defaultStoreType: options.storeType ?? 'persistent',
    dslKeepsHeaders: options.storeFormat === 'HEADERS',
    isCachingEnabled: (options.cacheMaxBytes ?? 0) > 0,
    isOnDisk: options.isOnDisk ?? false,
  };
  const topics = new TopicNames(topology, options.applicationId);
  checkInternalTopicNames(topology, topics, options.applicationId);
  const makers = new Map<string, MakeNode>();
  for (const spec of topology.nodes.values()) {
    makers.set(spec.name, nodeMaker(spec, topology, options, serdes, topics));
  }
  const stores = new Map<string, () => StateStore>();
  let isOnDisk = false;
  for (const [name, { builder }] of topology.stores) {
    // A cache would only put off what tasks are to see.
    const isGlobal = topology.globalStores.has(name);
    const own = isGlobal ? { ...settings, isCachingEnabled: false } : settings;
    stores.set(name, builder.bind(own));
    if (builder.isPersistent?.(own) !== true) continue;
    isOnDisk = true;
    checkNameOnDisk(name);
  }
  serdes.throwIfMissing();
  const skipsIgnoredValues = options.skipsIgnoredValues ?? true;
  const groups = nodeGroups(topology);
  const bound = { topology, settings, groups, makers, stores, isOnDisk, skipsIgnoredValues };
  return builtTopology(bound, topics);
}

/** They consist of the application id and a name of the topology's, which are legal on their own. */
function checkInternalTopicNames(
  topology: InternalTopology,
  topics: TopicNames,
  applicationId: string,
): void {
  const names = [...topology.internalTopics.keys()].map((topic) => topics.full(topic));
  for (const [store, { builder }] of topology.stores) {
    if (builder.isLogged) names.push(changelogTopic(applicationId, store));
  }
  const illegal = names.filter((name) => !isTopicName(name));
  if (illegal.length === 0) return;
  throw new TopologyError(
    `These internal topics would not have a legal name (${TOPIC_NAME_RULE}): ${illegal.join(', ')}. ` +
      'Give the application, the store or the operator a shorter name.',
  );
}

/** A changelog's name is checked anyway; without one a store may be called almost anything. */
function checkNameOnDisk(store: string): void {
  if (store !== '' && !/[/\0]/.test(store)) return;
  throw new TopologyError(
    `The store "${store}" is kept on disk: its name must not be empty, nor contain a slash or a NUL. Choose another ` +
      'name, or keep it in memory.',
  );
}

interface Bound {
  readonly topology: InternalTopology;
  readonly settings: StoreSettings;
  readonly groups: readonly NodeGroup[];
  readonly makers: ReadonlyMap<string, MakeNode>;
  readonly stores: ReadonlyMap<string, () => StateStore>;
  readonly isOnDisk: boolean;
  readonly skipsIgnoredValues: boolean;
}

function builtTopology(bound: Bound, topics: TopicNames): BuiltTopology {
  const { topology, settings, groups } = bound;
  const sources = [...topology.nodes.values()].filter((spec) => spec.kind === 'source');
  const resets = new Map<string, OffsetReset | null>();
  for (const spec of sources) {
    for (const topic of topics.of(spec)) resets.set(topic, spec.offsetReset);
  }
  const patterns = sources.flatMap(({ pattern }) => pattern ?? []);
  const built: BuiltTopology = {
    subtopologies: groups
      .filter((group) => !group.isGlobal)
      .map((group) => subtopology(group, topology, settings, topics)),
    global: globalTopology(bound, topics),
    isOnDisk: bound.isOnDisk,
    patterns,
    matching(names) {
      if (patterns.length === 0) return built;
      const matched = topics.matching(names);
      return topics.isSame(matched) ? built : builtTopology(bound, matched);
    },
    offsetReset: (topic) => resets.get(topic) ?? null,
    instantiate(subtopologyId) {
      const group = groups[subtopologyId];
      if (group === undefined || group.isGlobal) {
        throw new InvariantError(`There is no subtopology ${String(subtopologyId)}.`);
      }
      return instantiate(group.nodes, bound, topics);
    },
  };
  return built;
}

function globalTopology(bound: Bound, topics: TopicNames): GlobalTopology | null {
  const { topology, groups } = bound;
  const nodes = groups.filter((group) => group.isGlobal).flatMap((group) => group.nodes);
  if (nodes.length === 0) return null;
  const storeOfTopic = new Map<string, string>();
  for (const name of nodes) {
    const spec = topology.nodes.get(name) as NodeSpec;
    if (spec.kind !== 'processor') continue;
    const [source] = spec.predecessors as [string];
    const [topic] = topology.source(source).topics as [string];
    storeOfTopic.set(topic, [...spec.stores].join(', '));
  }
  return { storeOfTopic, instantiate: () => instantiate(nodes, bound, topics) };
}

function nodeMaker(
  spec: NodeSpec,
  topology: InternalTopology,
  options: BindOptions,
  serdes: SerdeResolver,
  names: TopicNames,
): MakeNode {
  const { name } = spec;
  if (spec.kind === 'processor') return () => spec.create(name);
  const owner = `The ${spec.kind} ${name}`;
  if (spec.kind === 'sink') {
    const partitioner = spec.partitioner as StreamPartitioner<unknown, unknown> | null;
    if (typeof spec.topic !== 'string') {
      const extractor = spec.topic as TopicNameExtractor<unknown, unknown>;
      const key = serdes.key(spec.keySerde, owner, DYNAMIC_TOPIC);
      const value = valueSerde(spec, serdes, owner, DYNAMIC_TOPIC);
      return () => new DynamicSinkOperator(name, extractor, key, value, partitioner);
    }
    const topic = names.full(spec.topic);
    const key = serdes.key(spec.keySerde, owner, topic);
    const value = valueSerde(spec, serdes, owner, topic);
    return () => new SinkOperator(name, topic, key, value, partitioner);
  }
  const topic = spec.pattern?.source ?? names.full(spec.topics[0] as string);
  const key: RecordSerde<unknown> = serdes.key(spec.keySerde, owner, topic);
  const value = valueSerde(spec, serdes, owner, topic);
  const isInternal = spec.topics.some((logical) => topology.internalTopics.has(logical));
  const extractor =
    spec.timestampExtractor ?? (isInternal ? null : (options.defaultTimestampExtractor ?? null));
  return (topics) => new SourceOperator(name, topics.of(spec), key, value, extractor);
}

function valueSerde(
  spec: SourceSpec | SinkSpec,
  serdes: SerdeResolver,
  owner: string,
  topic: string,
): RecordSerde<unknown> {
  const serde = serdes.value(spec.valueSerde, owner, topic);
  return spec.carriesChanges === true ? changeSerde(serde) : serde;
}

function subtopology(
  group: NodeGroup,
  topology: InternalTopology,
  settings: StoreSettings,
  topics: TopicNames,
): Subtopology {
  const sourceTopics = new Set<string>();
  const repartitionSources = new Map<string, InternalTopic>();
  const repartitionSinks = new Set<string>();
  const changelogs = new Map<string, Changelog>();
  for (const name of group.nodes) {
    const spec = topology.nodes.get(name) as NodeSpec;
    if (spec.kind === 'source') {
      for (const topic of topics.of(spec)) sourceTopics.add(topic);
      for (const topic of spec.topics) {
        const partitionCount = topology.internalTopics.get(topic);
        if (partitionCount === undefined) continue;
        repartitionSources.set(topic, {
          name: topics.full(topic),
          partitionCount,
          config: REPARTITION_CONFIG,
        });
      }
    } else if (spec.kind === 'sink') {
      const { topic } = spec;
      if (typeof topic === 'string' && topology.internalTopics.has(topic)) {
        repartitionSinks.add(topics.full(topic));
      }
    } else {
      for (const store of spec.stores) {
        const changelog = changelogOf(store, topology, settings);
        if (changelog !== null) changelogs.set(store, changelog);
      }
    }
  }
  return {
    id: group.id,
    sourceTopics: [...sourceTopics].sort(),
    repartitionSourceTopics: [...repartitionSources.values()],
    repartitionSinkTopics: [...repartitionSinks],
    changelogs: [...changelogs.values()],
    copartitionGroups: copartitionGroups(group, topology, topics),
  };
}

function changelogOf(
  store: string,
  topology: InternalTopology,
  settings: StoreSettings,
): Changelog | null {
  const spec = topology.stores.get(store);
  if (spec === undefined) throw new InvariantError(`There is no store ${store}.`);
  if (spec.sourceTopic !== null) {
    return {
      name: spec.sourceTopic,
      storeName: store,
      isSourceTopic: true,
      partitionCount: null,
      config: new Map(),
    };
  }
  if (!spec.builder.isLogged) return null;
  return {
    name: changelogTopic(settings.applicationId, store),
    storeName: store,
    isSourceTopic: false,
    partitionCount: null,
    config: spec.builder.changelogConfig(settings),
  };
}

function copartitionGroups(
  group: NodeGroup,
  topology: InternalTopology,
  names: TopicNames,
): readonly (readonly string[])[] {
  const members = new Set(group.nodes);
  return topology.copartitionedSources
    .filter((sources) => [...sources].some((source) => members.has(source)))
    .map((sources) => {
      const topics = [...sources].flatMap((source) => names.of(topology.source(source)));
      return [...new Set(topics)].sort();
    });
}

function instantiate(group: readonly string[], bound: Bound, topics: TopicNames): TaskTopology {
  const { topology, makers, stores: storeMakers } = bound;
  const nodes = new Map<string, ProcessorNode>();
  const sources = new Map<string, SourceNode>();
  const stores = new Map<string, StateStore>();
  for (const name of group) {
    const spec = topology.nodes.get(name) as NodeSpec;
    const node = (makers.get(name) as MakeNode)(topics);
    nodes.set(name, node);
    if (node instanceof SourceOperator) {
      for (const topic of node.topics) sources.set(topic, node);
    }
    if (spec.kind === 'source') continue;
    for (const parent of spec.predecessors) (nodes.get(parent) as ProcessorNode).children.add(node);
    if (spec.kind === 'sink') continue;
    if (isStoreUser(node)) {
      node.connect(new Set([...spec.stores, ...topology.globalStores]));
    }
    for (const store of spec.stores) {
      if (!stores.has(store)) stores.set(store, (storeMakers.get(store) as () => StateStore)());
    }
  }
  if (bound.skipsIgnoredValues) {
    for (const node of nodes.values()) if (node instanceof SourceOperator) node.skipIgnoredValues();
  }
  return { sources, nodes: [...nodes.values()], stores };
}
