import {
  errorCodes,
  InitProducerId,
  type InitProducerIdRequest,
  type InitProducerIdResponse,
} from '@millrace/protocol';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

/** Before it a producer does not know PRODUCER_FENCED. */
const PRODUCER_FENCED_FROM_VERSION = 4;

/**
 * InitProducerId, versions 0 to 5.
 *
 * Without transactional id: a producer id that was never given before, with epoch 0; what a client says of
 * an earlier id (KIP-360) changes nothing then. With one: the id's next epoch, which fences everyone who
 * has an earlier one; an open transaction is aborted first and the producer told CONCURRENT_TRANSACTIONS,
 * upon which it asks again (KIP-98). Version 5 knows TRANSACTION_ABORTABLE (KIP-890), which this request
 * never meets. Version 6, two-phase commit (KIP-939), is left out.
 */
export const initProducerIdHandler: Handler<InitProducerIdRequest, InitProducerIdResponse> = {
  api: InitProducerId,
  minVersion: 0,
  maxVersion: 5,
  handle(
    request: InitProducerIdRequest,
    context: RequestContext,
  ): HandlerResult<InitProducerIdResponse> {
    const { transactionalId, transactionTimeoutMs, producerId, producerEpoch } = request;
    if ((producerId === -1n) !== (producerEpoch === -1)) return refuse(errorCodes.INVALID_REQUEST);
    if (transactionalId === null) return newProducer(context);
    const { transactions } = context.broker;
    const expected = producerId === -1n ? null : { producerId, producerEpoch };
    return transactions
      .initProducer({ transactionalId, timeoutMs: transactionTimeoutMs, expected })
      .then((result) =>
        result.errorCode === errorCodes.PRODUCER_FENCED &&
        context.apiVersion < PRODUCER_FENCED_FROM_VERSION
          ? refuse(errorCodes.INVALID_PRODUCER_EPOCH)
          : result,
      );
  },
};

function newProducer({ broker }: RequestContext): HandlerResult<InitProducerIdResponse> {
  return broker.producerIds.next().then(
    (id) => ({ producerId: id, producerEpoch: 0 }),
    (error: unknown) => {
      broker.logger.error({ err: error }, 'a block of producer ids could not be reserved');
      return refuse(errorCodes.COORDINATOR_NOT_AVAILABLE);
    },
  );
}

function refuse(errorCode: number): {
  errorCode: number;
  producerId: bigint;
  producerEpoch: number;
} {
  return { errorCode, producerId: -1n, producerEpoch: -1 };
}
