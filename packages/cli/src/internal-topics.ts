import type { ClusterAdmin, ClusterTopic } from '@millrace/runtime/cluster';

export type InternalTopicKind = 'changelog' | 'repartition' | 'subscription';

export interface InternalTopic {
  readonly topic: ClusterTopic;
  readonly kind: InternalTopicKind;
}

export interface InternalTopics {
  /** By name. */
  readonly own: readonly InternalTopic[];
  /** Named like the application's, but also like those of a group with a longer id, by topic. */
  readonly doubtful: ReadonlyMap<
    string,
    { readonly topic: InternalTopic; readonly groupId: string }
  >;
}

const SUBSCRIPTION =
  /(?:-subscription-(?:registration|response)-topic|.-KTABLE-FK-JOIN-SUBSCRIPTION-(?:REGISTRATION|RESPONSE)-\d+-topic)$/;

/** By name alone, as Kafka's own tool does. Null: it is not named like an internal topic. */
export function internalTopicKind(applicationId: string, topic: string): InternalTopicKind | null {
  if (!topic.startsWith(`${applicationId}-`)) return null;
  if (topic.endsWith('-changelog')) return 'changelog';
  if (topic.endsWith('-repartition')) return 'repartition';
  return SUBSCRIPTION.test(topic) ? 'subscription' : null;
}

/**
 * The topics that are named like internal ones of the application, whoever made them. Those of an
 * application `orders-eu` are named like some of `orders`, too: where such a group is known, they are
 * told apart.
 */
export async function findInternalTopics(
  cluster: ClusterAdmin,
  applicationId: string,
): Promise<InternalTopics> {
  const groupIds = (await cluster.groups.list()).map(({ groupId }) => groupId);
  return sortInternalTopics(applicationId, await cluster.topics.list(), groupIds);
}

export function sortInternalTopics(
  applicationId: string,
  topics: readonly ClusterTopic[],
  groupIds: readonly string[],
): InternalTopics {
  const longer = groupIds.filter((groupId) => groupId.startsWith(`${applicationId}-`));
  const own: InternalTopic[] = [];
  const doubtful = new Map<string, { topic: InternalTopic; groupId: string }>();
  for (const topic of topics) {
    const kind = internalTopicKind(applicationId, topic.topic);
    if (kind === null) continue;
    const groupId = longer.find((id) => topic.topic.startsWith(`${id}-`));
    if (groupId === undefined) own.push({ topic, kind });
    else doubtful.set(topic.topic, { topic: { topic, kind }, groupId });
  }
  return { own, doubtful };
}
