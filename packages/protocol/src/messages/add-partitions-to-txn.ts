import { array, bool, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

const addPartitionsToTxnTopic = {
  name: string('0+'),
  partitions: array('0+', 'int32'),
};

const addPartitionsToTxnPartitionResult = {
  partitionIndex: int32('0+'),
  partitionErrorCode: int16('0+'),
};

const addPartitionsToTxnTopicResult = {
  name: string('0+'),
  resultsByPartition: array('0+', addPartitionsToTxnPartitionResult),
};

/**
 * AddPartitionsToTxn (API key 24), versions 0 to 5, flexible from 3.
 * KIP-98; versions 4 and up are sent by brokers only, several transactions at once (KIP-890).
 */
export const AddPartitionsToTxn = api({
  key: 24,
  name: 'AddPartitionsToTxn',
  versions: '0-5',
  flexible: '3+',
  request: {
    transactions: array('4+', {
      transactionalId: string('4+'),
      producerId: int64('4+'),
      producerEpoch: int16('4+'),
      verifyOnly: bool('4+'),
      topics: array('4+', addPartitionsToTxnTopic),
    }),
    v3AndBelowTransactionalId: string('0-3'),
    v3AndBelowProducerId: int64('0-3'),
    v3AndBelowProducerEpoch: int16('0-3'),
    v3AndBelowTopics: array('0-3', addPartitionsToTxnTopic),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('4+', { ignorable: true }),
    resultsByTransaction: array('4+', {
      transactionalId: string('4+'),
      topicResults: array('4+', addPartitionsToTxnTopicResult),
    }),
    resultsByTopicV3AndBelow: array('0-3', addPartitionsToTxnTopicResult),
  },
});

export type AddPartitionsToTxnRequest = RequestOf<typeof AddPartitionsToTxn>;
export type AddPartitionsToTxnResponse = ResponseOf<typeof AddPartitionsToTxn>;
