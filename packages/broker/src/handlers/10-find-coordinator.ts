import {
  errorCodes,
  FindCoordinator,
  type Encodable,
  type FindCoordinatorRequest,
  type FindCoordinatorResponse,
} from '@millrace/protocol';
import { CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC } from '../topics/topic.ts';
import type { Handler, RequestContext } from './handler.ts';

type Coordinator = Encodable<FindCoordinatorResponse['coordinators'][number]>;

const GROUP = 0;
const TRANSACTION = 1;
const FIRST_BATCHED_VERSION = 4;
const NO_NODE = { nodeId: -1, host: '', port: -1 };

/**
 * FindCoordinator, versions 0 to 5.
 *
 * One broker coordinates everything, so the answer is always this one; `__consumer_offsets` is made when
 * the coordinator of a group is first asked for, `__transaction_state` when that of a transaction is. Several keys in one request from version 4 (KIP-699).
 * Share groups (key type 2, v6) are not served.
 */
export const findCoordinatorHandler: Handler<FindCoordinatorRequest, FindCoordinatorResponse> = {
  api: FindCoordinator,
  minVersion: 0,
  maxVersion: 5,
  async handle(request, context) {
    const { keyType } = request;
    const coordinator = await findCoordinator(keyType, context);
    if (context.apiVersion < FIRST_BATCHED_VERSION) return coordinator;
    return { coordinators: request.coordinatorKeys.map((key) => ({ key, ...coordinator })) };
  },
};

async function findCoordinator(
  keyType: number,
  { broker }: RequestContext,
): Promise<Omit<Coordinator, 'key'>> {
  const { nodeId, host, port } = broker.node;
  const here = { nodeId, host, port, errorCode: errorCodes.NONE, errorMessage: null };
  if (keyType !== GROUP && keyType !== TRANSACTION) {
    return {
      ...NO_NODE,
      errorCode: errorCodes.INVALID_REQUEST,
      errorMessage: `there are no coordinators of key type ${keyType} here: 0 is a group, 1 a transaction`,
    };
  }
  const topic = keyType === GROUP ? CONSUMER_OFFSETS_TOPIC : TRANSACTION_STATE_TOPIC;
  try {
    await broker.topics.ensureInternal(topic);
    return here;
  } catch (error) {
    broker.logger.error({ err: error }, `${topic} could not be created`);
    return {
      ...NO_NODE,
      errorCode: errorCodes.COORDINATOR_NOT_AVAILABLE,
      errorMessage: `${topic} could not be created; the broker's log says why`,
    };
  }
}
