import { array, bool, bytes, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DescribeGroups (API key 15), versions 0 to 6, flexible from 5.
 * Static members from version 4 (KIP-345); GROUP_ID_NOT_FOUND with a message from 6 (KIP-1043).
 */
export const DescribeGroups = api({
  key: 15,
  name: 'DescribeGroups',
  versions: '0-6',
  flexible: '5+',
  request: {
    groups: array('0+', 'string'),
    includeAuthorizedOperations: bool('3+'),
  },
  response: {
    throttleTimeMs: int32('1+', { ignorable: true }),
    groups: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('6+', { nullable: '6+', default: null }),
      groupId: string('0+'),
      groupState: string('0+'),
      protocolType: string('0+'),
      protocolData: string('0+'),
      members: array('0+', {
        memberId: string('0+'),
        groupInstanceId: string('4+', { nullable: '4+', default: null, ignorable: true }),
        clientId: string('0+'),
        clientHost: string('0+'),
        memberMetadata: bytes('0+'),
        memberAssignment: bytes('0+'),
      }),
      authorizedOperations: int32('3+', { default: -2147483648 }),
    }),
  },
});

export type DescribeGroupsRequest = RequestOf<typeof DescribeGroups>;
export type DescribeGroupsResponse = ResponseOf<typeof DescribeGroups>;
