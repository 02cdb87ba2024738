import { errorCodes } from '@millrace/protocol';
import type { StreamsError } from '../../errors.ts';
import { apiUses } from '../apis.ts';
import { MissingTopicError } from '../errors.ts';
import { ANY_NODE } from '../transport.ts';
import { outcomeOf, withDetail } from './cluster-calls.ts';
import type { ClusterCalls } from './cluster-calls.ts';

/** `ConfigResource.Type.TOPIC`. */
const TOPIC_RESOURCE = 2;
/** `ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG`. */
const TOPIC_SOURCE = 1;
const OPERATIONS = { set: 0, delete: 1 } as const;

export interface TopicConfigEntry {
  readonly name: string;
  /** Null if the broker keeps it to itself. */
  readonly value: string | null;
  /** Set on the topic itself, not inherited from the broker or Kafka's default. */
  readonly isOwn: boolean;
}

export interface TopicConfigChange {
  readonly name: string;
  /** Null takes the topic's own value away. */
  readonly value: string | null;
}

/** Configuration of topics. */
export class ClusterConfigs {
  readonly #calls: ClusterCalls;

  constructor(calls: ClusterCalls) {
    this.#calls = calls;
  }

  /** By name. @throws MissingTopicError */
  describeTopic(topic: string): Promise<TopicConfigEntry[]> {
    return this.#calls.retry(`describe the configs of ${topic}`, async () => {
      const response = await this.#calls.send(ANY_NODE, apiUses.describeConfigs, {
        resources: [{ resourceType: TOPIC_RESOURCE, resourceName: topic, configurationKeys: null }],
      });
      const entries: TopicConfigEntry[] = [];
      for (const { errorCode, errorMessage, configs } of response.results) {
        if (errorCode === errorCodes.UNKNOWN_TOPIC_OR_PARTITION) {
          throw new MissingTopicError(`Topic ${topic} does not exist`, { context: { topic } });
        }
        const text = `The configs of topic ${topic} cannot be described`;
        const failure = outcomeOf(errorCode, withDetail(text, errorMessage), { topic });
        if (failure !== null) throw failure;
        for (const { name, value, configSource } of configs) {
          entries.push({ name, value, isOwn: configSource === TOPIC_SOURCE });
        }
      }
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    });
  }

  /** Changes what is named and nothing else (KIP-339), all or nothing. */
  alterTopic(
    topic: string,
    changes: readonly TopicConfigChange[],
    { validateOnly = false }: { readonly validateOnly?: boolean } = {},
  ): Promise<StreamsError | null> {
    return this.#calls.retry(`alter the configs of ${topic}`, async () => {
      const response = await this.#calls.send(
        await this.#calls.controller(),
        apiUses.alterConfigs,
        {
          resources: [
            {
              resourceType: TOPIC_RESOURCE,
              resourceName: topic,
              configs: changes.map(({ name, value }) => ({
                name,
                configOperation: value === null ? OPERATIONS.delete : OPERATIONS.set,
                value,
              })),
            },
          ],
          validateOnly,
        },
      );
      let outcome: StreamsError | null = null;
      for (const { errorCode, errorMessage } of response.responses) {
        const text = withDetail(`The configs of topic ${topic} cannot be altered`, errorMessage);
        outcome ??= outcomeOf(errorCode, text, { topic });
      }
      return outcome;
    });
  }
}
