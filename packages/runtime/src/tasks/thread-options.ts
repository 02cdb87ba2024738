import type { Logger } from 'pino';
import type { TopicsReady } from '../assignment/leader.ts';
import type { TopicMatcher } from '../assignment/topic-matcher.ts';
import type { AdminPort, StreamsClient } from '../client/ports.ts';
import type { StreamsConfig } from '../config/streams-config.ts';
import type { MetricsRegistry } from '../metrics/registry.ts';
import type { Clock } from '../platform/clock.ts';
import type { YieldToEventLoop } from '../platform/event-loop.ts';
import type { Random } from '../platform/random.ts';
import type { RestoreListener } from '../restore/progress.ts';
import type { StateDirectory } from '../state/directory/state-directory.ts';
import type { StateStore } from '../state/store.ts';
import type { Subtopology } from '../topology/built-topology.ts';
import type { ThreadShares } from './thread-shares.ts';
import type { ThreadState } from './thread-states.ts';

export interface StreamThreadOptions {
  /** From 1. */
  readonly index: number;
  /** `<client.id>-StreamThread-<index>`. */
  readonly name: string;
  readonly clientId: string;
  readonly processId: string;
  /** What the topology is, with the topics that match its patterns by now. */
  readonly matcher: TopicMatcher;
  /** As tasks may see them. */
  readonly globalStores?: ReadonlyMap<string, StateStore> | undefined;
  /** Where persistent stores are kept; null if there are none. */
  readonly stateDirectory?: StateDirectory | null;
  readonly config: StreamsConfig;
  readonly client: StreamsClient;
  readonly admin: AdminPort;
  /** Creates and checks the internal topics; called on the leader, before it assigns. */
  readonly ensureTopics: () => Promise<TopicsReady>;
  /** The thread was given tasks of these subtopologies. */
  readonly onAssigned: (subtopologies: readonly Subtopology[]) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly yieldToEventLoop: YieldToEventLoop;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Its part of what all stream threads share. */
  readonly shares: ThreadShares;
  /** While the client is paused nothing is processed and nothing restored; what is done is committed. */
  readonly isPaused: () => boolean;
  readonly onState: (state: ThreadState) => void;
  readonly onRestore: RestoreListener;
  /**
   * The thread processes nothing any more, and is to be stopped; once more when, after that, the group tells all its
   * members to stop.
   */
  readonly onFailed: (error: Error) => void;
}

/** What a bounded stop had to leave undone; empty after a clean one. */
export interface StopReport {
  readonly leftUndone: readonly string[];
}
