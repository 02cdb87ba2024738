import type { RecordHeaders } from '@millrace/protocol';
import type { Awaitable } from './outcome.ts';

/** The record that a topic is chosen for; valid until the extractor has answered. */
export interface RecordContext {
  /** Of the source record: null, -1 and -1n if it comes from a punctuation. */
  readonly topic: string | null;
  readonly partition: number;
  readonly offset: bigint;
  /** Of the record being sent, epoch ms. */
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/** Chooses the topic of each record (Kafka's TopicNameExtractor). The topics must exist. */
export type TopicNameExtractor<K, V> = (
  key: K,
  value: V,
  context: RecordContext,
) => Awaitable<string>;
