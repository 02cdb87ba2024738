import { array, bool, int16, int32, string, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * Metadata (API key 3), versions 0 to 13, flexible from 9.
 * Null topics ask for all of them (from version 1; an empty list does in 0), topic ids from
 * version 10 (KIP-516), a topic may be asked for by id from 12.
 */
export const Metadata = api({
  key: 3,
  name: 'Metadata',
  versions: '0-13',
  flexible: '9+',
  request: {
    topics: array(
      '0+',
      {
        topicId: uuid('10+', { ignorable: true }),
        name: string('0+', { nullable: '10+' }),
      },
      { nullable: '1+' },
    ),
    allowAutoTopicCreation: bool('4+', { default: true }),
    includeClusterAuthorizedOperations: bool('8-10'),
    includeTopicAuthorizedOperations: bool('8+'),
  },
  response: {
    throttleTimeMs: int32('3+', { ignorable: true }),
    brokers: array('0+', {
      nodeId: int32('0+'),
      host: string('0+'),
      port: int32('0+'),
      rack: string('1+', { nullable: '1+', default: null, ignorable: true }),
    }),
    clusterId: string('2+', { nullable: '2+', default: null, ignorable: true }),
    controllerId: int32('1+', { default: -1, ignorable: true }),
    topics: array('0+', {
      errorCode: int16('0+'),
      name: string('0+', { nullable: '12+' }),
      topicId: uuid('10+', { ignorable: true }),
      isInternal: bool('1+', { ignorable: true }),
      partitions: array('0+', {
        errorCode: int16('0+'),
        partitionIndex: int32('0+'),
        leaderId: int32('0+'),
        leaderEpoch: int32('7+', { default: -1, ignorable: true }),
        replicaNodes: array('0+', 'int32'),
        isrNodes: array('0+', 'int32'),
        offlineReplicas: array('5+', 'int32', { ignorable: true }),
      }),
      topicAuthorizedOperations: int32('8+', { default: -2147483648 }),
    }),
    clusterAuthorizedOperations: int32('8-10', { default: -2147483648 }),
    errorCode: int16('13+', { ignorable: true }),
  },
});

export type MetadataRequest = RequestOf<typeof Metadata>;
export type MetadataResponse = ResponseOf<typeof Metadata>;
