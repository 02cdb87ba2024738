import { array, bytes, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * SyncGroup (API key 14), versions 0 to 5, flexible from 4.
 * Static members from version 3 (KIP-345); protocol type and name from 5 (KIP-559).
 */
export const SyncGroup = api({
  key: 14,
  name: 'SyncGroup',
  versions: '0-5',
  flexible: '4+',
  request: {
    groupId: string('0+'),
    generationId: int32('0+'),
    memberId: string('0+'),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
    protocolType: string('5+', { nullable: '5+', default: null, ignorable: true }),
    protocolName: string('5+', { nullable: '5+', default: null, ignorable: true }),
    assignments: array('0+', {
      memberId: string('0+'),
      assignment: bytes('0+'),
    }),
  },
  response: {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16('0+'),
    protocolType: string('5+', { nullable: '5+', default: null, ignorable: true }),
    protocolName: string('5+', { nullable: '5+', default: null, ignorable: true }),
    assignment: bytes('0+'),
  },
});

export type SyncGroupRequest = RequestOf<typeof SyncGroup>;
export type SyncGroupResponse = ResponseOf<typeof SyncGroup>;
