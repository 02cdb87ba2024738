import { setTimeout as sleep } from 'node:timers/promises';
import {
  GroupProgress,
  KafkaStreams,
  type KafkaStreamsOptions,
  type StreamsClient,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { topicProgress, type TopicProgress } from './topic-progress.ts';

export interface RunToEndOptions {
  readonly topology: Topology;
  readonly config: StreamsConfigInput & { readonly 'application.id': string };
  readonly streamsOptions: KafkaStreamsOptions;
  readonly client: StreamsClient;
  /** In the order in which a record passes them: what is at the end of one has reached the next. */
  readonly topics: readonly string[];
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: readonly TopicProgress[]) => void;
}

const POLL_INTERVAL_MS = 200;

/**
 * Runs a stream application until all that is in its topics has been processed and committed, then
 * stops it. An application as such never ends; these examples do, because their input does.
 */
export async function runToEnd(options: RunToEndOptions): Promise<readonly TopicProgress[]> {
  const { topology, config, streamsOptions, client, topics, signal, onProgress } = options;
  const group = new GroupProgress(client, config['application.id']);
  const streams = new KafkaStreams(topology, config, streamsOptions);
  try {
    await streams.start();
    for (;;) {
      if (streams.state === 'ERROR') throw streams.failure ?? new Error('the application failed');
      // One after the other: a commit covers what was written on, so once the first topic is at its
      // end, nothing will come to the second any more.
      const progress: TopicProgress[] = [];
      for (const topic of topics) progress.push(await topicProgress(group, topic));
      onProgress?.(progress);
      if (progress.every(({ isAtEnd }) => isAtEnd)) return progress;
      await sleep(POLL_INTERVAL_MS, undefined, { signal });
    }
  } catch (error) {
    // The sleep's own error says nothing; the reason does.
    signal.throwIfAborted();
    throw error;
  } finally {
    await streams.close();
    await group.close();
  }
}
