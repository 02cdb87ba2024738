import { TopologyError } from '../errors.ts';
import { RepartitionNode } from '../topology/graph-nodes.ts';
import { prefixes, repartitionNames, validName } from '../topology/naming.ts';
import type { RepartitionedOptions } from './options.ts';
import type { StreamState } from './stream-context.ts';
import type { KStream } from './streams.ts';

/** `repartition`: a repartition step in any case, which no optimisation merges with another. */
export function repartitioned<K, V>(
  from: StreamState<K, V>,
  options: RepartitionedOptions<K, V>,
): KStream<K, V> {
  const { builder, graphNode } = from;
  const { partitions = null } = options;
  if (partitions !== null && !(Number.isSafeInteger(partitions) && partitions >= 0)) {
    throw new TopologyError(
      `repartition() is given ${String(partitions)} partitions: give a whole number, 1 or more.`,
    );
  }
  // As in Kafka Streams, a given name uses up no index here.
  const prefix =
    options.name === undefined
      ? builder.naming.newNodeName(prefixes.repartition)
      : validName(options.name);
  const keySerde = options.key ?? from.keySerde;
  const valueSerde = options.value ?? from.valueSerde;
  const names = repartitionNames(builder.naming, prefix);
  const partitioner = options.partitioner ?? null;
  const node = new RepartitionNode(names, keySerde, valueSerde, partitions, false, partitioner);
  builder.graph.add(node, graphNode);
  if (options.name === undefined) builder.topology.generatedNames.repartitionTopic(names.topic);
  return builder.make.stream<K, V>({
    builder,
    name: node.name,
    graphNode: node,
    keySerde,
    valueSerde,
    sources: new Set([node.name]),
    needsRepartition: false,
  });
}
