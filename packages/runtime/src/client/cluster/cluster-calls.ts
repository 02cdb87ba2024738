import type { Logger } from 'pino';
import { errorCodes } from '@millrace/protocol';
import type { MetadataResponse } from '@millrace/protocol';
import { StreamsError, TimeoutError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import { apiUses } from '../apis.ts';
import { Backoff } from '../backoff.ts';
import { brokerError } from '../broker-errors.ts';
import type { TopicPartition } from '../ports.ts';
import type { Sleeper } from '../sleeper.ts';
import { ANY_NODE } from '../transport.ts';
import type { ApiUse, RequestBody, Transport } from '../transport.ts';

export interface ClusterContext {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly sleeper: Sleeper;
  /** Longest wait for one answer. */
  readonly requestTimeoutMs: number;
  /** Longest time of one call, retries included. */
  readonly timeoutMs: number;
}

/** What the rooms of ClusterAdmin share: requests, metadata, and retries that end in time. */
export class ClusterCalls {
  readonly context: ClusterContext;

  constructor(context: ClusterContext) {
    this.context = context;
  }

  send<Req, Res>(nodeId: number, use: ApiUse<Req, Res>, body: RequestBody<Req>): Promise<Res> {
    const { transport, requestTimeoutMs, timeoutMs } = this.context;
    return transport.send(nodeId, use, body, { timeoutMs: Math.min(requestTimeoutMs, timeoutMs) });
  }

  /** What brokers, topics and leaders there are; null: all topics. One try. */
  async metadata(topics: readonly string[] | null): Promise<MetadataResponse> {
    const response = await this.send(ANY_NODE, apiUses.metadata, {
      topics: topics === null ? null : topics.map((name) => ({ name })),
      allowAutoTopicCreation: false,
    });
    this.context.transport.setNodes(response.brokers);
    return response;
  }

  /** Where topics and configs are changed. */
  async controller(): Promise<number> {
    const { controllerId } = await this.metadata([]);
    return controllerId >= 0 ? controllerId : ANY_NODE;
  }

  /** @throws TimeoutError with the last failure as its cause; what no retry helps, at once */
  async retry<T>(what: string, attempt: () => Promise<T>): Promise<T> {
    const { clock, random, sleeper, timeoutMs, logger } = this.context;
    const startedAt = clock.monotonicMs();
    const backoff = new Backoff(random);
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof StreamsError) || !error.retriable) throw error;
        const waitMs = backoff.next();
        if (clock.monotonicMs() - startedAt + waitMs > timeoutMs) {
          throw new TimeoutError(`Could not ${what} within ${timeoutMs} ms: ${error.message}`, {
            cause: error,
          });
        }
        logger.debug({ err: error }, `could not ${what}; trying again`);
        await sleeper.sleep(waitMs);
      }
    }
  }
}

/** A broker's own words, where it has some. */
export function withDetail(text: string, detail: string | null): string {
  return detail === null || detail === '' ? text : `${text} (${detail})`;
}

/** null for success. Throws what another try may overcome, so that the call is tried again. */
export function outcomeOf(
  code: number,
  text: string,
  context: Readonly<Record<string, string | number>>,
): StreamsError | null {
  if (code === errorCodes.NONE) return null;
  const error = brokerError(code, text, context);
  // A topic that is missing stays missing for whoever administers it.
  if (error.retriable && code !== errorCodes.UNKNOWN_TOPIC_OR_PARTITION) throw error;
  return error;
}

export function byTopic<T extends TopicPartition>(partitions: Iterable<T>): Map<string, T[]> {
  const topics = new Map<string, T[]>();
  for (const each of partitions) {
    const ofTopic = topics.get(each.topic);
    if (ofTopic === undefined) topics.set(each.topic, [each]);
    else ofTopic.push(each);
  }
  return topics;
}
