import { errorCodes } from '@millrace/protocol';
import type { BrokerServices } from '../services.ts';
import { TopicError } from '../topics/topic-error.ts';
import { topicNameProblem } from '../topics/topic-names.ts';
import type { Topic } from '../topics/topic.ts';

/** Kafka's codes of what can have configuration. */
export const ResourceType = { topic: 2, broker: 4 } as const;

interface Resource {
  readonly resourceType: number;
  readonly resourceName: string;
}

/** The topic that a change names: there are no defaults for all topics. Throws TopicError. */
export function topicToChange(name: string, broker: BrokerServices): Topic {
  if (name === '') {
    throw new TopicError('INVALID_REQUEST', 'Default topic resources are not allowed.');
  }
  return topicOfResource(name, broker);
}

/** The topic that a resource names. Throws TopicError. */
export function topicOfResource(name: string, broker: BrokerServices): Topic {
  const problem = topicNameProblem(name);
  if (problem !== undefined) throw new TopicError('INVALID_TOPIC_EXCEPTION', problem);
  const topic = broker.topics.get(name);
  if (topic === undefined) {
    throw new TopicError('UNKNOWN_TOPIC_OR_PARTITION', `The topic '${name}' does not exist.`);
  }
  return topic;
}

/** Throws TopicError unless the name is this node's id; empty stands for all nodes where allowed. */
export function checkBrokerResource(
  name: string,
  broker: BrokerServices,
  allowsAll: boolean,
): void {
  if ((allowsAll && name === '') || name === String(broker.node.nodeId)) return;
  throw new TopicError(
    'INVALID_REQUEST',
    `Unexpected broker id, expected ${broker.node.nodeId}, but received ${name}`,
  );
}

function keyOf({ resourceType, resourceName }: Resource): string {
  return `${resourceType}:${resourceName}`;
}

/** Keys of the resources that a request names more than once. */
export function duplicateResources(resources: readonly Resource[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const resource of resources) {
    const key = keyOf(resource);
    if (seen.has(key)) duplicates.add(key);
    seen.add(key);
  }
  return duplicates;
}

/** Throws TopicError for a resource that is among the duplicates. */
export function refuseDuplicate(duplicates: ReadonlySet<string>, resource: Resource): void {
  if (!duplicates.has(keyOf(resource))) return;
  throw new TopicError('INVALID_REQUEST', 'Each resource must appear at most once.');
}

/** The answer about one resource: what `change` throws as TopicError becomes its code and message. */
export async function answerResource(
  { resourceType, resourceName }: Resource,
  change: () => Promise<void>,
): Promise<{
  resourceType: number;
  resourceName: string;
  errorCode: number;
  errorMessage: string | null;
}> {
  const resource = { resourceType, resourceName };
  try {
    await change();
    return { ...resource, errorCode: errorCodes.NONE, errorMessage: null };
  } catch (error) {
    if (!(error instanceof TopicError)) throw error;
    return { ...resource, errorCode: error.errorCode, errorMessage: error.message };
  }
}

/**
 * Changes what is set at run time for a broker, or for all of them where there is no name. Rejects with
 * TopicError.
 */
export async function changeBroker(
  name: string,
  isCheckOnly: boolean,
  broker: BrokerServices,
  change: (entries: ReadonlyMap<string, string>) => ReadonlyMap<string, string>,
): Promise<void> {
  checkBrokerResource(name, broker, true);
  const scope = name === '' ? 'cluster' : 'node';
  if (isCheckOnly) broker.configs.check(scope, change);
  else await broker.configs.alter(scope, change);
}

/** Throws TopicError for a kind of resource whose configuration cannot be changed here. */
export function refuseResource(resourceType: number): never {
  throw new TopicError('INVALID_REQUEST', `Unknown or unsupported resource type: ${resourceType}`);
}
