import { array, int16, int32, string, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DeleteTopics (API key 20), versions 1 to 6, flexible from 4.
 * By name or by topic id from version 6 (KIP-516).
 */
export const DeleteTopics = api({
  key: 20,
  name: 'DeleteTopics',
  versions: '1-6',
  flexible: '4+',
  request: {
    topics: array('6+', {
      name: string('6+', { nullable: '6+', default: null }),
      topicId: uuid('6+'),
    }),
    topicNames: array('0-5', 'string', { ignorable: true }),
    timeoutMs: int32('0+'),
  },
  response: {
    throttleTimeMs: int32('1+', { ignorable: true }),
    responses: array('0+', {
      name: string('0+', { nullable: '6+' }),
      topicId: uuid('6+', { ignorable: true }),
      errorCode: int16('0+'),
      errorMessage: string('5+', { nullable: '5+', default: null, ignorable: true }),
    }),
  },
});

export type DeleteTopicsRequest = RequestOf<typeof DeleteTopics>;
export type DeleteTopicsResponse = ResponseOf<typeof DeleteTopics>;
