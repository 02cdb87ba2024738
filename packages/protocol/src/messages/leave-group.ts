import { array, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * LeaveGroup (API key 13), versions 0 to 5, flexible from 4.
 * Several members in one request from version 3 (KIP-345); a reason from 5 (KIP-800).
 */
export const LeaveGroup = api({
  key: 13,
  name: 'LeaveGroup',
  versions: '0-5',
  flexible: '4+',
  request: {
    groupId: string('0+'),
    memberId: string('0-2'),
    members: array('3+', {
      memberId: string('3+'),
      groupInstanceId: string('3+', { nullable: '3+', default: null }),
      reason: string('5+', { nullable: '5+', default: null, ignorable: true }),
    }),
  },
  response: {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16('0+'),
    members: array('3+', {
      memberId: string('3+'),
      groupInstanceId: string('3+', { nullable: '3+' }),
      errorCode: int16('3+'),
    }),
  },
});

export type LeaveGroupRequest = RequestOf<typeof LeaveGroup>;
export type LeaveGroupResponse = ResponseOf<typeof LeaveGroup>;
