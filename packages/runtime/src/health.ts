import type { StreamsState } from './states.ts';

/** How an application is, for the probes of an orchestrator. */
export interface StreamsHealth {
  /**
   * Liveness: false once the client has failed or was closed, and will do nothing more. What blocks the event
   * loop shows in that a probe gets no answer.
   */
  readonly isAlive: boolean;
  /** Readiness: every thread runs and all state is restored (RUNNING). False also while the group rebalances. */
  readonly isReady: boolean;
  readonly state: StreamsState;
  /** What made the client end in ERROR; null otherwise. */
  readonly failure: Error | null;
  /** Of the stream threads, and of the thread of the global stores if there is one. */
  readonly threads: readonly ThreadHealth[];
}

export interface ThreadHealth {
  /** `<client.id>-StreamThread-<index>`. */
  readonly name: string;
  /** Kafka Streams' states, such as `RUNNING` or `PARTITIONS_ASSIGNED`. */
  readonly state: string;
}

const ended: readonly StreamsState[] = ['NOT_RUNNING', 'PENDING_ERROR', 'ERROR'];

export function healthOf(
  state: StreamsState,
  failure: Error | null,
  threads: readonly ThreadHealth[],
): StreamsHealth {
  return {
    isAlive: !ended.includes(state),
    isReady: state === 'RUNNING',
    state,
    failure,
    threads: threads.map((thread) => ({ name: thread.name, state: thread.state })),
  };
}
