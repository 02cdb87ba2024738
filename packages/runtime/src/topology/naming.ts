import { TopologyError } from '../errors.ts';

/** Prefixes of generated names, as Kafka Streams has them. */
export const prefixes = {
  source: 'KSTREAM-SOURCE-',
  sink: 'KSTREAM-SINK-',
  filter: 'KSTREAM-FILTER-',
  map: 'KSTREAM-MAP-',
  mapValues: 'KSTREAM-MAPVALUES-',
  flatMap: 'KSTREAM-FLATMAP-',
  flatMapValues: 'KSTREAM-FLATMAPVALUES-',
  keySelect: 'KSTREAM-KEY-SELECT-',
  peek: 'KSTREAM-PEEK-',
  foreach: 'KSTREAM-FOREACH-',
  merge: 'KSTREAM-MERGE-',
  branch: 'KSTREAM-BRANCH-',
  repartition: 'KSTREAM-REPARTITION-',
  process: 'KSTREAM-PROCESSOR-',
  processValues: 'KSTREAM-PROCESSVALUES-',
  aggregate: 'KSTREAM-AGGREGATE-',
  reduce: 'KSTREAM-REDUCE-',
  join: 'KSTREAM-JOIN-',
  leftJoin: 'KSTREAM-LEFTJOIN-',
  toTable: 'KSTREAM-TOTABLE-',
  tableSource: 'KTABLE-SOURCE-',
  tableFilter: 'KTABLE-FILTER-',
  tableMapValues: 'KTABLE-MAPVALUES-',
  tableTransformValues: 'KTABLE-TRANSFORMVALUES-',
  tableSelect: 'KTABLE-SELECT-',
  tableAggregate: 'KTABLE-AGGREGATE-',
  tableReduce: 'KTABLE-REDUCE-',
  tableMerge: 'KTABLE-MERGE-',
  tableJoinThis: 'KTABLE-JOINTHIS-',
  tableJoinOther: 'KTABLE-JOINOTHER-',
  toStream: 'KTABLE-TOSTREAM-',
  suppress: 'KTABLE-SUPPRESS-',
} as const;

export const REPARTITION_SUFFIX = '-repartition';
const INDEX_DIGITS = 10;
const NAME_MAX_CHARS = 249;
const LEGAL_NAME = /^[a-zA-Z0-9._-]+$/;
const GENERATED_STREAM_NAME = /^KSTREAM.*-[0-9]{10}$/;

/**
 * One counter for all names of a topology, nodes and stores alike. A name that the user gave still
 * uses up the index that it replaces, so naming one operator leaves the other names as they were.
 */
export class Naming {
  #next = 0;

  newNodeName(prefix: string): string {
    return prefix + this.#index();
  }

  newStoreName(prefix: string): string {
    return `${prefix}STATE-STORE-${this.#index()}`;
  }

  nodeName(given: string | undefined, prefix: string): string {
    const generated = this.newNodeName(prefix);
    return given === undefined ? generated : validName(given);
  }

  /** The given name with a suffix, or a generated one. */
  suffixedNodeName(given: string | undefined, suffix: string, prefix: string): string {
    const generated = this.newNodeName(prefix);
    return given === undefined ? generated : validName(given + suffix);
  }

  /** Unlike a node's, a store's given name uses up no index. */
  storeName(given: string | undefined, prefix: string): string {
    return given === undefined ? this.newStoreName(prefix) : validName(given);
  }

  #index(): string {
    return String(this.#next++).padStart(INDEX_DIGITS, '0');
  }
}

/** Names of nodes, stores and internal topics are Kafka topic names, too. */
export function validName(name: string): string {
  if (name === '') throw new TopologyError("A name is illegal: it can't be empty.");
  if (name === '.' || name === '..') {
    throw new TopologyError(`The name "${name}" is illegal: it can't be "." or "..".`);
  }
  if (name.length > NAME_MAX_CHARS) {
    throw new TopologyError(
      `The name "${name}" is illegal: it has ${String(name.length)} characters, ${String(NAME_MAX_CHARS)} are allowed.`,
    );
  }
  if (!LEGAL_NAME.test(name)) {
    throw new TopologyError(
      `The name "${name}" is illegal: only ASCII letters, digits, ".", "_" and "-" are allowed.`,
    );
  }
  return name;
}

export interface RepartitionNames {
  readonly topic: string;
  readonly sink: string;
  readonly filter: string;
  readonly source: string;
}

/**
 * Names of a repartition step: its topic and the three nodes around it. Three indexes are used up in
 * any case; the nodes bear them only if the topic's name is a generated one, too.
 */
export function repartitionNames(naming: Naming, topicPrefix: string): RepartitionNames {
  const sink = naming.newNodeName(prefixes.sink);
  const filter = naming.newNodeName(prefixes.filter);
  const source = naming.newNodeName(prefixes.source);
  const topic = topicPrefix.endsWith(REPARTITION_SUFFIX)
    ? topicPrefix
    : topicPrefix + REPARTITION_SUFFIX;
  if (GENERATED_STREAM_NAME.test(topicPrefix)) return { topic, sink, filter, source };
  return {
    topic,
    sink: `${topic}-sink`,
    filter: `${topic}-filter`,
    source: `${topic}-source`,
  };
}
