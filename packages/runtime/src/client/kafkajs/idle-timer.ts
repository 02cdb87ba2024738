import type { KafkaJsConnectionPool } from './internals.ts';

/**
 * kafkajs 2.2.4 re-arms a 1 ms timer for ever once a connection has had an answer, and looks every
 * 100 ms for requests that timed out. The first is left out while nothing is pending, the second
 * altogether: the transport has a timer of its own for each request. Only our own connections are
 * touched, not kafkajs's classes.
 */
export function quietIdleTimers(pool: KafkaJsConnectionPool): void {
  for (const { requestQueue } of pool.pool) {
    const schedule = requestQueue.scheduleCheckPendingRequests.bind(requestQueue);
    requestQueue.enforceRequestTimeout = false;
    requestQueue.scheduleCheckPendingRequests = () => {
      if (requestQueue.pending.length > 0) schedule();
    };
  }
}
