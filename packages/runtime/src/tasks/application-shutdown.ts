import type { Logger } from 'pino';
import { ASSIGNMENT_PROTOCOL } from '../assignment/assignor.ts';
import { assignAsLeader } from '../assignment/leader.ts';
import { encodeSubscription } from '../assignment/subscription.ts';
import type { StreamsClient } from '../client/ports.ts';
import type { StreamsConfig } from '../config/streams-config.ts';
import { InvariantError } from '../errors.ts';
import { SHUTDOWN_REASON_MAX_CHARS } from '../limits.ts';

export interface ApplicationShutdownOptions {
  readonly client: StreamsClient;
  readonly config: StreamsConfig;
  readonly processId: string;
  /** Why; every instance says so. */
  readonly reason: string;
  readonly logger: Logger;
}

/**
 * Tells all instances of the application to stop (KIP-671). A member of its own joins the group for one
 * rebalance, with the reason in its subscription, and the leader answers all with it: so it does not
 * matter whether the thread that failed can still take part. Instances of a version that does not know
 * of this go on.
 *
 * The caller bounds the wait: the group waits for members that are slow to give up their tasks.
 */
export async function shutDownApplication(options: ApplicationShutdownOptions): Promise<void> {
  const { client, config, processId, logger } = options;
  const { mainConsumer } = config;
  const shutdownReason = options.reason.slice(0, SHUTDOWN_REASON_MAX_CHARS);
  const group = client.group({
    groupId: config.get('application.id'),
    groupInstanceId: null,
    sessionTimeoutMs: mainConsumer['session.timeout.ms'],
    heartbeatIntervalMs: mainConsumer['heartbeat.interval.ms'],
    rebalanceTimeoutMs: mainConsumer['max.poll.interval.ms'],
    protocolName: ASSIGNMENT_PROTOCOL,
  });
  logger.warn({ reason: shutdownReason }, 'telling all instances of the application to stop');
  try {
    await new Promise<void>((resolve, reject) => {
      group.join({
        subscription: () => ({
          topics: [],
          userData: encodeSubscription({
            processId,
            generation: -1,
            activeTasks: [],
            shutdownReason,
          }),
        }),
        assign: (members) =>
          assignAsLeader(members, () =>
            Promise.reject(new InvariantError('A shutdown of the application assigns no tasks')),
          ),
        onRebalance: () => Promise.resolve(),
        onAssigned: () => {
          resolve();
          return Promise.resolve();
        },
        onLost: () => Promise.resolve(),
        onFatal: reject,
      });
    });
  } finally {
    await group.leave(config.get('request.timeout.ms'));
  }
}
