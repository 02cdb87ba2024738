import { array, bool, int16, int32, int8, string, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * CreateTopics (API key 19), versions 2 to 7, flexible from 5.
 * Default partition count and replication factor (-1) from version 4 (KIP-464); the result tells
 * the configs from 5 (KIP-525) and the topic id from 7 (KIP-516).
 */
export const CreateTopics = api({
  key: 19,
  name: 'CreateTopics',
  versions: '2-7',
  flexible: '5+',
  request: {
    topics: array('0+', {
      name: string('0+'),
      numPartitions: int32('0+'),
      replicationFactor: int16('0+'),
      assignments: array('0+', {
        partitionIndex: int32('0+'),
        brokerIds: array('0+', 'int32'),
      }),
      configs: array('0+', {
        name: string('0+'),
        value: string('0+', { nullable: '0+' }),
      }),
    }),
    timeoutMs: int32('0+', { default: 60000 }),
    validateOnly: bool('1+'),
  },
  response: {
    throttleTimeMs: int32('2+', { ignorable: true }),
    topics: array('0+', {
      name: string('0+'),
      topicId: uuid('7+', { ignorable: true }),
      errorCode: int16('0+'),
      errorMessage: string('1+', { nullable: '0+', ignorable: true }),
      topicConfigErrorCode: int16('5+', { tag: 0, ignorable: true }),
      numPartitions: int32('5+', { default: -1, ignorable: true }),
      replicationFactor: int16('5+', { default: -1, ignorable: true }),
      configs: array(
        '5+',
        {
          name: string('5+'),
          value: string('5+', { nullable: '5+' }),
          readOnly: bool('5+'),
          configSource: int8('5+', { default: -1, ignorable: true }),
          isSensitive: bool('5+'),
        },
        { nullable: '5+', ignorable: true },
      ),
    }),
  },
});

export type CreateTopicsRequest = RequestOf<typeof CreateTopics>;
export type CreateTopicsResponse = ResponseOf<typeof CreateTopics>;
