import { Heartbeat, type HeartbeatRequest, type HeartbeatResponse } from '@millrace/protocol';
import type { Handler } from './handler.ts';

/**
 * Heartbeat, versions 0 to 4.
 *
 * Prolongs the member's session. REBALANCE_IN_PROGRESS while joins are wanted, which prolongs it, too.
 */
export const heartbeatHandler: Handler<HeartbeatRequest, HeartbeatResponse> = {
  api: Heartbeat,
  minVersion: 0,
  maxVersion: 4,
  handle: (request, { broker }) => ({ errorCode: broker.groups.heartbeat(request) }),
};
