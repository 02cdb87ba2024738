import type { SentRecords } from '../commit/record-collector.ts';
import type { Metric, MetricsRegistry, MetricTags } from './registry.ts';
import { definitionOf, metricOf, MetricsGroup } from './registry.ts';
import type { TaskMeasures } from './task-measures.ts';

/** An input of a task. */
interface MeasuredQueue {
  readonly topic: string;
  readonly source: { readonly name: string };
  readonly bufferedRecords: number;
  readonly consumedRecords: number;
  readonly consumedBytes: number;
}

/** Of a node that keeps records until their time has come. */
interface EmittingNode {
  readonly name: string;
  readonly emittedCount: number;
}

/** What a task lets be read of its nodes. */
export interface MeasuredNodes {
  readonly measures: TaskMeasures;
  readonly queues: readonly MeasuredQueue[];
  readonly sources: readonly { readonly name: string }[];
  readonly nodes: readonly { readonly name: string }[];
  sent(): Iterable<SentRecords>;
}

/** What Kafka Streams counts of a record besides: timestamp, offset and partition. */
const RECORD_EXTRA_BYTES = 20;

/** Kafka Streams' metrics of a task's nodes, and of the topics that they read and write; returns how to remove them. */
export function registerNodeMetrics(
  registry: MetricsRegistry,
  taskTags: MetricTags,
  task: MeasuredNodes,
): () => void {
  const of = (node: string): MetricsGroup => {
    const tags = { ...taskTags, 'processor-node-id': node };
    return new MetricsGroup(registry, 'stream-processor-node-metrics', tags);
  };
  const groups = [
    ...task.measures.latencies.map(({ node, latency }) =>
      of(node.name).addAverageMinAndMax('record-e2e-latency', latency),
    ),
    ...task.sources.map(({ name }) =>
      of(name).addRateAndTotal('process', () => consumed(task, name)),
    ),
    ...task.nodes
      .filter(isEmitting)
      .map((node) => of(node.name).addRateAndTotal('suppression-emit', () => node.emittedCount)),
  ];
  // Queues are there once the stores are restored, and dynamic sinks find their topics by the record.
  const stopProviding = registry.provide(() => topicMetrics(taskTags, task));
  return () => {
    stopProviding();
    for (const group of groups) group.remove();
  };
}

function isEmitting(node: object): node is EmittingNode {
  return 'emittedCount' in node;
}

function consumed(task: MeasuredNodes, source: string): number {
  return task.queues
    .filter((queue) => queue.source.name === source)
    .reduce((sum, { consumedRecords }) => sum + consumedRecords, 0);
}

function* topicMetrics(taskTags: MetricTags, task: MeasuredNodes): Generator<Metric> {
  const metric = (name: string, tags: MetricTags, value: () => number): Metric =>
    metricOf(definitionOf('stream-topic-metrics', name), tags, value);
  for (const queue of task.queues) {
    const { topic, source } = queue;
    const tags = { ...taskTags, 'processor-node-id': source.name, topic };
    const extraBytes = RECORD_EXTRA_BYTES + Buffer.byteLength(topic);
    yield metric('records-consumed-total', tags, () => queue.consumedRecords);
    yield metric(
      'bytes-consumed-total',
      tags,
      () => queue.consumedBytes + queue.consumedRecords * extraBytes,
    );
  }
  for (const sent of task.sent()) {
    const tags = { ...taskTags, 'processor-node-id': sent.node, topic: sent.topic };
    yield metric('records-produced-total', tags, () => sent.sentRecords);
    yield metric('bytes-produced-total', tags, () => sent.sentBytes);
  }
}
