import { array, bool, bytes, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * JoinGroup (API key 11), versions 0 to 9, flexible from 6.
 * A first join without a member id is answered with one from version 4 (KIP-394); static members
 * from 5 (KIP-345); a reason from 8 (KIP-800).
 */
export const JoinGroup = api({
  key: 11,
  name: 'JoinGroup',
  versions: '0-9',
  flexible: '6+',
  request: {
    groupId: string('0+'),
    sessionTimeoutMs: int32('0+'),
    rebalanceTimeoutMs: int32('1+', { default: -1, ignorable: true }),
    memberId: string('0+'),
    groupInstanceId: string('5+', { nullable: '5+', default: null }),
    protocolType: string('0+'),
    protocols: array('0+', {
      name: string('0+'),
      metadata: bytes('0+'),
    }),
    reason: string('8+', { nullable: '8+', default: null, ignorable: true }),
  },
  response: {
    throttleTimeMs: int32('2+', { ignorable: true }),
    errorCode: int16('0+'),
    generationId: int32('0+', { default: -1 }),
    protocolType: string('7+', { nullable: '7+', default: null, ignorable: true }),
    protocolName: string('0+', { nullable: '7+' }),
    leader: string('0+'),
    skipAssignment: bool('9+'),
    memberId: string('0+'),
    members: array('0+', {
      memberId: string('0+'),
      groupInstanceId: string('5+', { nullable: '5+', default: null, ignorable: true }),
      metadata: bytes('0+'),
    }),
  },
});

export type JoinGroupRequest = RequestOf<typeof JoinGroup>;
export type JoinGroupResponse = ResponseOf<typeof JoinGroup>;
