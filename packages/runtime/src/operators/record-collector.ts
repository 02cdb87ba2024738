import type { RecordHeaders } from '@millrace/protocol';
import type { RecordSerde } from '../serdes/serde.ts';
import type { PartitionAppender } from '../state/partition-appender.ts';
import type { Awaitable, Outcome } from './outcome.ts';

/** Partitions as chosen by a partitioner. */
export type ChosenPartitions = number | readonly number[] | undefined;

/**
 * Chooses partitions by itself; `undefined` leaves the choice to the default (murmur2 of the key
 * bytes), an empty array drops the record, several multicast it (KIP-873). The record waits for a
 * promise.
 */
export type StreamPartitioner<K, V> = (
  topic: string,
  key: K | null,
  value: V | null,
  headers: RecordHeaders | null,
  partitionCount: number,
) => Awaitable<ChosenPartitions>;

/** Sends to one topic; opened once per sink, so that nothing is looked up per record. */
export interface TopicSender {
  /**
   * Learns the topic's partition count, which must be done before the first record; undefined if it is
   * known. For sinks the task does it when it starts.
   */
  prepare(): Promise<void> | undefined;
  send<K, V>(
    key: K | null,
    keySerde: RecordSerde<K>,
    value: V | null,
    valueSerde: RecordSerde<V>,
    timestamp: number,
    headers: RecordHeaders | null,
    partitioner: StreamPartitioner<K, V> | null,
  ): Outcome;
}

export interface RecordCollector {
  /** `node` is who sends: what the production handler is told. */
  topic(name: string, node?: string): TopicSender;
  partition(topic: string, partition: number): PartitionAppender;
}
