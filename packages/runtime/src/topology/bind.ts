import type { StreamPartitioner } from '../operators/record-collector.ts';
import { InvariantError } from '../errors.ts';
import type { ProcessorNode } from '../operators/processor-node.ts';
import { SinkOperator } from '../operators/sink.ts';
import { SourceOperator } from '../operators/source.ts';
import { changeSerde } from '../serdes/change.ts';
import { SerdeResolver } from '../serdes/serde-resolver.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import { changelogTopic } from '../state/store-builders.ts';
import type { StateStore, StoreSettings } from '../state/store.ts';
import type {
  BuiltTopology,
  Changelog,
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

/** Kafka Streams' default of `windowstore.changelog.additional.retention.ms`: one day. */
const ADDITIONAL_RETENTION_DEFAULT_MS = 86_400_000;

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
  /** `windowstore.changelog.additional.retention.ms`, default one day. */
  readonly changelogAdditionalRetentionMs?: number;
}

type MakeNode = () => ProcessorNode;

/** Binds a topology to an application: full topic names, serdes resolved. Throws one TopologyError for all missing serdes. */
export function bindInternalTopology(
  topology: InternalTopology,
  options: BindOptions,
): BuiltTopology {
  const serdes = new SerdeResolver(
    options.defaultKeySerde ?? null,
    options.defaultValueSerde ?? null,
  );
  const settings: StoreSettings = {
    applicationId: options.applicationId,
    serdes,
    changelogAdditionalRetentionMs:
      options.changelogAdditionalRetentionMs ?? ADDITIONAL_RETENTION_DEFAULT_MS,
  };
  const fullName = (topic: string): string =>
    topology.internalTopics.has(topic) ? `${options.applicationId}-${topic}` : topic;

  const makers = new Map<string, MakeNode>();
  for (const spec of topology.nodes.values()) {
    makers.set(spec.name, nodeMaker(spec, topology, options, serdes, fullName));
  }
  const stores = new Map<string, () => StateStore>();
  for (const [name, { builder }] of topology.stores) stores.set(name, builder.bind(settings));
  serdes.throwIfMissing();

  const groups = nodeGroups(topology);
  const resets = new Map<string, OffsetReset | null>();
  for (const spec of topology.nodes.values()) {
    if (spec.kind !== 'source') continue;
    for (const topic of spec.topics) resets.set(fullName(topic), spec.offsetReset);
  }
  return {
    subtopologies: groups.map((group) => subtopology(group, topology, settings, fullName)),
    offsetReset: (topic) => resets.get(topic) ?? null,
    instantiate(subtopologyId) {
      const group = groups[subtopologyId];
      if (group === undefined) {
        throw new InvariantError(`There is no subtopology ${String(subtopologyId)}.`);
      }
      return instantiate(group, topology, makers, stores);
    },
  };
}

function nodeMaker(
  spec: NodeSpec,
  topology: InternalTopology,
  options: BindOptions,
  serdes: SerdeResolver,
  fullName: (topic: string) => string,
): MakeNode {
  const { name } = spec;
  if (spec.kind === 'processor') return () => spec.create(name);
  const owner = `The ${spec.kind} ${name}`;
  if (spec.kind === 'sink') {
    const topic = fullName(spec.topic);
    const key = serdes.key(spec.keySerde, owner, topic);
    const value = valueSerde(spec, serdes, owner, topic);
    const partitioner = spec.partitioner as StreamPartitioner<unknown, unknown> | null;
    return () => new SinkOperator(name, topic, key, value, partitioner);
  }
  const topics = spec.topics.map(fullName);
  const [topic] = topics as [string];
  const key: RecordSerde<unknown> = serdes.key(spec.keySerde, owner, topic);
  const value = valueSerde(spec, serdes, owner, topic);
  const isInternal = spec.topics.some((logical) => topology.internalTopics.has(logical));
  const extractor =
    spec.timestampExtractor ?? (isInternal ? null : (options.defaultTimestampExtractor ?? null));
  return () => new SourceOperator(name, topics, key, value, extractor);
}

function valueSerde(
  spec: SourceSpec | SinkSpec,
  serdes: SerdeResolver,
  owner: string,
  topic: string,
): RecordSerde<unknown> {
  const serde = serdes.value(spec.valueSerde, owner, topic);
  return spec.carriesChanges === true ? (changeSerde(serde) as RecordSerde<unknown>) : serde;
}

function subtopology(
  group: NodeGroup,
  topology: InternalTopology,
  settings: StoreSettings,
  fullName: (topic: string) => string,
): Subtopology {
  const sourceTopics = new Set<string>();
  const repartitionSources = new Map<string, InternalTopic>();
  const repartitionSinks = new Set<string>();
  const changelogs = new Map<string, Changelog>();
  for (const name of group.nodes) {
    const spec = topology.nodes.get(name) as NodeSpec;
    if (spec.kind === 'source') {
      for (const topic of spec.topics) {
        sourceTopics.add(fullName(topic));
        const partitionCount = topology.internalTopics.get(topic);
        if (partitionCount === undefined) continue;
        repartitionSources.set(topic, {
          name: fullName(topic),
          partitionCount,
          config: REPARTITION_CONFIG,
        });
      }
    } else if (spec.kind === 'sink') {
      if (topology.internalTopics.has(spec.topic)) repartitionSinks.add(fullName(spec.topic));
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
    copartitionGroups: copartitionGroups(group, topology, fullName),
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
  fullName: (topic: string) => string,
): readonly (readonly string[])[] {
  const members = new Set(group.nodes);
  return topology.copartitionedSources
    .filter((sources) => [...sources].some((source) => members.has(source)))
    .map((sources) => {
      const topics = [...sources].flatMap((source) => topology.source(source).topics);
      return [...new Set(topics.map(fullName))].sort();
    });
}

function instantiate(
  group: NodeGroup,
  topology: InternalTopology,
  makers: ReadonlyMap<string, MakeNode>,
  storeMakers: ReadonlyMap<string, () => StateStore>,
): TaskTopology {
  const nodes = new Map<string, ProcessorNode>();
  const sources = new Map<string, SourceNode>();
  const stores = new Map<string, StateStore>();
  for (const name of group.nodes) {
    const spec = topology.nodes.get(name) as NodeSpec;
    const node = (makers.get(name) as MakeNode)();
    nodes.set(name, node);
    if (node instanceof SourceOperator) {
      for (const topic of node.topics) sources.set(topic, node);
    }
    if (spec.kind === 'source') continue;
    for (const parent of spec.predecessors)
      (nodes.get(parent) as ProcessorNode).children.push(node);
    if (spec.kind === 'sink') continue;
    for (const store of spec.stores) {
      if (!stores.has(store)) stores.set(store, (storeMakers.get(store) as () => StateStore)());
    }
  }
  return { sources, nodes: [...nodes.values()], stores };
}
