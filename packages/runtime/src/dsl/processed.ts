import type { FixedKeyProcessorSupplier, ProcessorSupplier } from '../operators/processor-api.ts';
import { OperatorNode } from '../topology/graph-nodes.ts';
import { prefixes, validName } from '../topology/naming.ts';
import { suppliedNode } from '../topology/supplied-node.ts';
import type { ProcessOptions, ProcessValuesOptions } from './options.ts';
import { derive, type BuilderContext, type StreamState } from './stream-context.ts';
import type { KStream } from './streams.ts';

/** `process`: keys may change, so what groups or joins by key is repartitioned first. */
export function processed<K, V, KR, VR>(
  from: StreamState<K, V>,
  supplier: ProcessorSupplier<K, V, KR, VR>,
  options: ProcessOptions<KR, VR>,
): KStream<KR, VR> {
  const node = processorNode(from, supplier, options, prefixes.process, false);
  const state = derive<KR, VR>(from, node, {
    keySerde: options.key ?? null,
    valueSerde: options.value ?? null,
    needsRepartition: true,
  });
  return from.builder.make.stream(state);
}

/** `processValues`: keys stay, and so does their serde. */
export function processedValues<K, V, VR>(
  from: StreamState<K, V>,
  supplier: FixedKeyProcessorSupplier<K, V, VR>,
  options: ProcessValuesOptions<VR>,
): KStream<K, VR> {
  const node = processorNode(from, supplier, options, prefixes.processValues, true);
  const state = derive<K, VR>(from, node, {
    keySerde: from.keySerde,
    valueSerde: options.value ?? null,
  });
  return from.builder.make.stream(state);
}

function processorNode(
  { builder }: { readonly builder: BuilderContext },
  supplier:
    | ProcessorSupplier<never, never, unknown, unknown>
    | FixedKeyProcessorSupplier<never, never, unknown>,
  options: ProcessValuesOptions<unknown>,
  prefix: string,
  keepsKeys: boolean,
): OperatorNode {
  // As in Kafka Streams, a given name uses up no index here.
  const name =
    options.name === undefined ? builder.naming.newNodeName(prefix) : validName(options.name);
  const { create, stores } = suppliedNode(supplier, `the processor ${name}`, keepsKeys);
  const named = options.stores ?? [];
  return new OperatorNode(name, create, {
    stores: [...stores, ...named.filter((store) => typeof store === 'object')],
    readsStores: named.filter((store) => typeof store === 'string'),
  });
}
