import {
  AddOffsetsToTxn,
  errorCodes,
  type AddOffsetsToTxnRequest,
  type AddOffsetsToTxnResponse,
} from '@millrace/protocol';
import { CONSUMER_OFFSETS_TOPIC } from '../topics/topic.ts';
import type { Handler } from './handler.ts';
import { transactionErrorCode } from './transactional-errors.ts';

/**
 * AddOffsetsToTxn, versions 0 to 4 (KIP-98): adds the group's partition of `__consumer_offsets` to the
 * transaction. The topic is made if it is not there yet.
 */
export const addOffsetsToTxnHandler: Handler<AddOffsetsToTxnRequest, AddOffsetsToTxnResponse> = {
  api: AddOffsetsToTxn,
  minVersion: 0,
  maxVersion: 4,
  async handle({ groupId, transactionalId, producerId, producerEpoch }, { apiVersion, broker }) {
    try {
      await broker.topics.ensureInternal(CONSUMER_OFFSETS_TOPIC);
    } catch (error) {
      broker.logger.error({ err: error }, `${CONSUMER_OFFSETS_TOPIC} could not be created`);
      return { errorCode: errorCodes.COORDINATOR_NOT_AVAILABLE };
    }
    const partition = broker.groups.offsetsPartitionOf(groupId);
    if (partition === undefined) return { errorCode: errorCodes.COORDINATOR_NOT_AVAILABLE };
    const errorCode = await broker.transactions.addPartitions(
      { transactionalId, producerId, producerEpoch },
      new Map([[CONSUMER_OFFSETS_TOPIC, new Set([partition])]]),
    );
    return { errorCode: transactionErrorCode(errorCode, apiVersion) };
  },
};
