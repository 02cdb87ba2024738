import { array, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * OffsetDelete (API key 47), version 0, classic only.
 * KIP-496.
 */
export const OffsetDelete = api({
  key: 47,
  name: 'OffsetDelete',
  versions: '0',
  flexible: 'none',
  request: {
    groupId: string('0+'),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
      }),
    }),
  },
  response: {
    errorCode: int16('0+'),
    throttleTimeMs: int32('0+', { ignorable: true }),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
});

export type OffsetDeleteRequest = RequestOf<typeof OffsetDelete>;
export type OffsetDeleteResponse = ResponseOf<typeof OffsetDelete>;
