import { array, bytes, int32, int64, string, uuid } from './field.ts';
import { message } from './schema.ts';
import type { MessageOf } from './schema.ts';

/**
 * Key of a committed offset in `__consumer_offsets`. The version in front of a key names its kind:
 * 1 here (0 is the same layout from before 0.9), 2 for group metadata.
 */
export const OffsetCommitKey = message({
  name: 'OffsetCommitKey',
  versions: '0-1',
  flexible: 'none',
  fields: {
    group: string('0+'),
    topic: string('0+'),
    partition: int32('0+'),
  },
});
export type OffsetCommitKey = MessageOf<typeof OffsetCommitKey>;

/**
 * Value of a committed offset in `__consumer_offsets`; flexible from version 4. Times in epoch ms.
 */
export const OffsetCommitValue = message({
  name: 'OffsetCommitValue',
  versions: '0-4',
  flexible: '4+',
  fields: {
    offset: int64('0+'),
    leaderEpoch: int32('3+', { default: -1, ignorable: true }),
    metadata: string('0+'),
    commitTimestamp: int64('0+'),
    expireTimestamp: int64('1', { default: -1n, ignorable: true }),
    topicId: uuid('4+', { tag: 0, ignorable: true }),
  },
});
export type OffsetCommitValue = MessageOf<typeof OffsetCommitValue>;

/**
 * Key of a classic group in `__consumer_offsets`; its version is always 2.
 */
export const GroupMetadataKey = message({
  name: 'GroupMetadataKey',
  versions: '2',
  flexible: 'none',
  fields: {
    group: string('0+'),
  },
});
export type GroupMetadataKey = MessageOf<typeof GroupMetadataKey>;

const memberMetadata = {
  memberId: string('0+'),
  groupInstanceId: string('3+', { nullable: '3+', default: null, ignorable: true }),
  clientId: string('0+'),
  clientHost: string('0+'),
  rebalanceTimeout: int32('1+', { default: -1, ignorable: true }),
  sessionTimeout: int32('0+'),
  subscription: bytes('0+'),
  assignment: bytes('0+'),
};

/**
 * Value of a classic group in `__consumer_offsets`: its generation, protocol and members.
 */
export const GroupMetadataValue = message({
  name: 'GroupMetadataValue',
  versions: '0-4',
  flexible: '4+',
  fields: {
    protocolType: string('0+'),
    generation: int32('0+'),
    protocol: string('0+', { nullable: '0+' }),
    leader: string('0+', { nullable: '0+' }),
    currentStateTimestamp: int64('2+', { default: -1n, ignorable: true }),
    members: array('0+', memberMetadata),
  },
});
export type GroupMetadataValue = MessageOf<typeof GroupMetadataValue>;
