import {
  decodeVersioned,
  encodeVersioned,
  GroupMetadataKey,
  GroupMetadataValue,
  OffsetCommitKey,
  OffsetCommitValue,
  versionOf,
} from '@millrace/protocol';
import type { CoordinatorRecord } from '../coordinators/coordinator-topic.ts';
import type { Group } from './group.ts';
import type { CommittedOffset } from './offsets.ts';

/** The number in front of a key in `__consumer_offsets` names its kind. */
const LEGACY_OFFSET_KEY = 0;
const OFFSET_KEY = 1;
const GROUP_KEY = 2;

/**
 * Values as Kafka 4.4 writes them: groups in version 3, offsets in version 4, which carries the topic id,
 * except those with an expiry of their own, for which only version 1 has a place.
 */
const GROUP_VALUE_VERSION = 3;
const OFFSET_VALUE_VERSION = 4;
const OFFSET_VALUE_VERSION_WITH_EXPIRY = 1;

export type DecodedRecord =
  | {
      readonly kind: 'offset';
      readonly groupId: string;
      readonly topic: string;
      readonly partition: number;
      /** Without its place in the log. */
      readonly value: Omit<CommittedOffset, 'logOffset'> | null;
    }
  | { readonly kind: 'group'; readonly groupId: string; readonly value: GroupMetadataValue | null }
  /** Of a group type that this broker does not serve. */
  | { readonly kind: 'unknown'; readonly keyVersion: number };

export function offsetRecord(
  groupId: string,
  topic: string,
  partition: number,
  committed: Omit<CommittedOffset, 'logOffset'> | null,
): CoordinatorRecord {
  const key = encodeVersioned(OffsetCommitKey, OFFSET_KEY, { group: groupId, topic, partition });
  if (committed === null) return { key, value: null };
  const version =
    committed.expireTimestamp === -1 ? OFFSET_VALUE_VERSION : OFFSET_VALUE_VERSION_WITH_EXPIRY;
  return {
    key,
    value: encodeVersioned(OffsetCommitValue, version, {
      offset: committed.offset,
      leaderEpoch: committed.leaderEpoch,
      metadata: committed.metadata,
      commitTimestamp: BigInt(committed.commitTimestamp),
      expireTimestamp: BigInt(committed.expireTimestamp),
      topicId: committed.topicId,
    }),
  };
}

/** `assignments`: those that are about to count; without, what the members have. */
export function groupRecord(
  group: Group,
  assignments?: ReadonlyMap<string, Buffer>,
): CoordinatorRecord {
  return {
    key: encodeVersioned(GroupMetadataKey, GROUP_KEY, { group: group.groupId }),
    value: encodeVersioned(GroupMetadataValue, GROUP_VALUE_VERSION, {
      protocolType: group.protocolType ?? '',
      generation: group.generationId,
      protocol: group.protocolName,
      leader: group.leaderId,
      currentStateTimestamp: BigInt(group.stateTimestamp),
      members: [...group.members()].map((member) => ({
        memberId: member.memberId,
        groupInstanceId: member.groupInstanceId,
        clientId: member.clientId,
        clientHost: member.clientHost,
        rebalanceTimeout: member.rebalanceTimeoutMs,
        sessionTimeout: member.sessionTimeoutMs,
        subscription: member.metadataFor(group.protocolName),
        assignment: assignments ? (assignments.get(member.memberId) ?? NOTHING) : member.assignment,
      })),
    }),
  };
}

const NOTHING = Buffer.alloc(0);

export function groupTombstone(groupId: string): CoordinatorRecord {
  return {
    key: encodeVersioned(GroupMetadataKey, GROUP_KEY, { group: groupId }),
    value: null,
  };
}

/** Throws ProtocolError for bytes that do not follow the schemas. */
export function decodeRecord(key: Buffer, value: Buffer | null): DecodedRecord {
  const keyVersion = versionOf(key);
  switch (keyVersion) {
    case LEGACY_OFFSET_KEY:
    case OFFSET_KEY: {
      const { group, topic, partition } = decodeVersioned(OffsetCommitKey, key).body;
      return {
        kind: 'offset',
        groupId: group,
        topic,
        partition,
        value: value === null ? null : decodeOffset(value),
      };
    }
    case GROUP_KEY: {
      const { group } = decodeVersioned(GroupMetadataKey, key).body;
      const decoded = value === null ? null : decodeVersioned(GroupMetadataValue, value).body;
      return { kind: 'group', groupId: group, value: decoded };
    }
    default:
      return { kind: 'unknown', keyVersion };
  }
}

function decodeOffset(value: Buffer): Omit<CommittedOffset, 'logOffset'> {
  const { body } = decodeVersioned(OffsetCommitValue, value);
  return {
    offset: body.offset,
    leaderEpoch: body.leaderEpoch,
    metadata: body.metadata,
    commitTimestamp: Number(body.commitTimestamp),
    expireTimestamp: Number(body.expireTimestamp),
    topicId: body.topicId,
  };
}
