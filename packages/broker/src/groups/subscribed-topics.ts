import { Reader, ProtocolError } from '@millrace/protocol';
import { CONSUMER_PROTOCOL_TYPE } from './consumer-protocol-type.ts';
import type { GroupMember } from './members.ts';

interface SubscribedGroup {
  readonly protocolType: string | null;
  readonly protocolName: string | null;
  readonly size: number;
  members(): Iterable<GroupMember>;
}

/**
 * The topics that the members of a consumer group ask for, read from their metadata: every version of
 * ConsumerProtocolSubscription begins with the fields of version 0. null if it is another protocol, or
 * if a member's bytes do not follow it.
 */
export function subscribedTopics(group: SubscribedGroup): ReadonlySet<string> | null {
  if (group.protocolType !== CONSUMER_PROTOCOL_TYPE) return null;
  const topics = new Set<string>();
  if (group.size === 0) return topics;
  if (group.protocolName === null) return null;
  try {
    for (const member of group.members()) {
      addTopics(topics, member.metadataFor(group.protocolName));
    }
  } catch (error) {
    if (error instanceof ProtocolError) return null;
    throw error;
  }
  return topics;
}

function addTopics(topics: Set<string>, subscription: Buffer): void {
  const reader = new Reader(subscription);
  reader.readInt16();
  for (let left = reader.readInt32(); left > 0; left -= 1) topics.add(reader.readString());
}
