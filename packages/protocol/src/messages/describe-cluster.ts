import { array, bool, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DescribeCluster (API key 60), versions 0 to 2, all flexible.
 * KIP-700; endpoint type from version 1 (KIP-919), fenced brokers from 2 (KIP-1073).
 */
export const DescribeCluster = api({
  key: 60,
  name: 'DescribeCluster',
  versions: '0-2',
  flexible: '0+',
  request: {
    includeClusterAuthorizedOperations: bool('0+'),
    endpointType: int8('1+', { default: 1 }),
    includeFencedBrokers: bool('2+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: '0+', default: null }),
    endpointType: int8('1+', { default: 1 }),
    clusterId: string('0+'),
    controllerId: int32('0+', { default: -1 }),
    brokers: array('0+', {
      brokerId: int32('0+'),
      host: string('0+'),
      port: int32('0+'),
      rack: string('0+', { nullable: '0+', default: null }),
      isFenced: bool('2+'),
    }),
    clusterAuthorizedOperations: int32('0+', { default: -2147483648 }),
  },
});

export type DescribeClusterRequest = RequestOf<typeof DescribeCluster>;
export type DescribeClusterResponse = ResponseOf<typeof DescribeCluster>;
