import { array, bool, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * CreatePartitions (API key 37), versions 0 to 3, flexible from 2.
 * KIP-195.
 */
export const CreatePartitions = api({
  key: 37,
  name: 'CreatePartitions',
  versions: '0-3',
  flexible: '2+',
  request: {
    topics: array('0+', {
      name: string('0+'),
      count: int32('0+'),
      assignments: array(
        '0+',
        {
          brokerIds: array('0+', 'int32'),
        },
        { nullable: '0+' },
      ),
    }),
    timeoutMs: int32('0+'),
    validateOnly: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array('0+', {
      name: string('0+'),
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+', default: null }),
    }),
  },
});

export type CreatePartitionsRequest = RequestOf<typeof CreatePartitions>;
export type CreatePartitionsResponse = ResponseOf<typeof CreatePartitions>;
