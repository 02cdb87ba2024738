import { array, int16, int32, int64, records, string, struct, uuid } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * Produce (API key 0), versions 3 to 13, flexible from 9.
 * Versions 0 to 2 carry message sets of the old formats and are not declared. Version 7 allows
 * zstd (KIP-110), 8 names the bad records (KIP-467), 10 tells the new leader (KIP-951), 12 adds
 * partitions to the transaction (KIP-890), 13 goes by topic id (KIP-516).
 */
export const Produce = api({
  key: 0,
  name: 'Produce',
  versions: '3-13',
  flexible: '9+',
  request: {
    transactionalId: string('3+', { nullable: '3+', default: null }),
    acks: int16('0+'),
    timeoutMs: int32('0+'),
    topicData: array('0+', {
      name: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitionData: array('0+', {
        index: int32('0+'),
        records: records('0+', { nullable: '0+' }),
      }),
    }),
  },
  response: {
    responses: array('0+', {
      name: string('0-12', { ignorable: true }),
      topicId: uuid('13+', { ignorable: true }),
      partitionResponses: array('0+', {
        index: int32('0+'),
        errorCode: int16('0+'),
        baseOffset: int64('0+'),
        logAppendTimeMs: int64('2+', { default: -1n, ignorable: true }),
        logStartOffset: int64('5+', { default: -1n, ignorable: true }),
        recordErrors: array(
          '8+',
          {
            batchIndex: int32('8+'),
            batchIndexErrorMessage: string('8+', { nullable: '8+', default: null }),
          },
          { ignorable: true },
        ),
        errorMessage: string('8+', { nullable: '8+', default: null, ignorable: true }),
        currentLeader: struct(
          '10+',
          {
            leaderId: int32('10+', { default: -1 }),
            leaderEpoch: int32('10+', { default: -1 }),
          },
          { tag: 0 },
        ),
      }),
    }),
    throttleTimeMs: int32('1+', { ignorable: true }),
    nodeEndpoints: array(
      '10+',
      {
        nodeId: int32('10+'),
        host: string('10+'),
        port: int32('10+'),
        rack: string('10+', { nullable: '10+', default: null }),
      },
      { tag: 0 },
    ),
  },
});

export type ProduceRequest = RequestOf<typeof Produce>;
export type ProduceResponse = ResponseOf<typeof Produce>;
