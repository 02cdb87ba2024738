import { int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * Heartbeat (API key 12), versions 0 to 4, flexible from 4.
 * Static members from version 3 (KIP-345).
 */
export const Heartbeat = api({
  key: 12,
  name: 'Heartbeat',
  versions: '0-4',
  flexible: '4+',
  request: {
    groupId: string('0+'),
    generationId: int32('0+'),
    memberId: string('0+'),
    groupInstanceId: string('3+', { nullable: '3+', default: null }),
  },
  response: {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16('0+'),
  },
});

export type HeartbeatRequest = RequestOf<typeof Heartbeat>;
export type HeartbeatResponse = ResponseOf<typeof Heartbeat>;
