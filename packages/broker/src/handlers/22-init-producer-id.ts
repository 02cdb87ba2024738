import {
  errorCodes,
  InitProducerId,
  type InitProducerIdRequest,
  type InitProducerIdResponse,
} from '@millrace/protocol';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

/**
 * InitProducerId, versions 0 to 5, for idempotent producers: each call gives a producer id that was
 * never given before, with epoch 0; what a client says of an earlier id (KIP-360) changes nothing, as
 * in Kafka without a transactional id.
 *
 * Left out until the transaction coordinator is there: transactional ids, answered with
 * UNSUPPORTED_VERSION, which every client takes as final.
 */
export const initProducerIdHandler: Handler<InitProducerIdRequest, InitProducerIdResponse> = {
  api: InitProducerId,
  minVersion: 0,
  maxVersion: 5,
  handle(
    request: InitProducerIdRequest,
    context: RequestContext,
  ): HandlerResult<InitProducerIdResponse> {
    const { broker, clientId } = context;
    const { transactionalId, producerId, producerEpoch } = request;
    if (transactionalId === '') return { errorCode: errorCodes.INVALID_REQUEST };
    if ((producerId === -1n) !== (producerEpoch === -1)) {
      return { errorCode: errorCodes.INVALID_REQUEST };
    }
    if (transactionalId !== null) {
      broker.logger.info(
        { clientId, transactionalId },
        'a producer asked for a transactional id; this broker has no transactions yet',
      );
      return { errorCode: errorCodes.UNSUPPORTED_VERSION };
    }
    return broker.producerIds.next().then(
      (id) => ({ producerId: id, producerEpoch: 0 }),
      (error: unknown) => {
        broker.logger.error({ err: error }, 'a block of producer ids could not be reserved');
        return { errorCode: errorCodes.COORDINATOR_NOT_AVAILABLE };
      },
    );
  },
};
