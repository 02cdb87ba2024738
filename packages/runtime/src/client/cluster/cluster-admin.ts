import { StreamsError } from '../../errors.ts';
import { ConnectionError } from '../errors.ts';
import { ClusterCalls } from './cluster-calls.ts';
import type { ClusterContext } from './cluster-calls.ts';
import { ClusterConfigs } from './cluster-configs.ts';
import { ClusterGroups } from './cluster-groups.ts';
import { ClusterOffsets } from './cluster-offsets.ts';
import { ClusterTopics } from './cluster-topics.ts';

export interface ClusterBroker {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

export interface ClusterDescription {
  readonly clusterId: string | null;
  /** Node id; -1: there is none now. */
  readonly controllerId: number;
  readonly brokers: readonly ClusterBroker[];
}

/**
 * A cluster's topics, configs, offsets and groups, for tools. Every call tries again what may be tried
 * again, and ends within the time that `StreamsClient.cluster` was given.
 *
 * Calls throw TimeoutError, AuthenticationError, AuthorizationError, UnsupportedVersionError or
 * ShutdownError where nothing can be answered; what concerns one topic, partition or group is in the
 * answer.
 */
export class ClusterAdmin {
  readonly topics: ClusterTopics;
  readonly configs: ClusterConfigs;
  readonly offsets: ClusterOffsets;
  readonly groups: ClusterGroups;
  readonly #calls: ClusterCalls;

  constructor(context: ClusterContext) {
    this.#calls = new ClusterCalls(context);
    this.topics = new ClusterTopics(this.#calls);
    this.configs = new ClusterConfigs(this.#calls);
    this.offsets = new ClusterOffsets(this.#calls);
    this.groups = new ClusterGroups(this.#calls);
  }

  /**
   * Who is there. Unlike all other calls it gives up once each of `serverCount` bootstrap servers has
   * been tried and none took the connection, so that a wrong address is told at once.
   *
   * @throws ConnectionError
   */
  async reach(serverCount: number): Promise<ClusterDescription> {
    for (let failureCount = 0; ;) {
      try {
        const { clusterId, controllerId, brokers } = await this.#calls.metadata([]);
        return {
          clusterId,
          controllerId,
          brokers: brokers
            .map(({ nodeId, host, port }) => ({ nodeId, host, port }))
            .sort((a, b) => a.nodeId - b.nodeId),
        };
      } catch (error) {
        if (!(error instanceof StreamsError) || !error.retriable) throw error;
        failureCount++;
        if (failureCount >= serverCount || !(error instanceof ConnectionError)) throw error;
      }
    }
  }
}
