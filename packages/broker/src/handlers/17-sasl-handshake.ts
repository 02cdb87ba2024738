import {
  errorCodes,
  SaslHandshake,
  type SaslHandshakeRequest,
  type SaslHandshakeResponse,
} from '@millrace/protocol';
import type { Handler, HandlerResult } from './handler.ts';

/**
 * SaslHandshake, versions 0 and 1: refused as Kafka refuses it on a listener without SASL. The listener
 * is loopback only and authenticates nobody.
 */
export const saslHandshakeHandler: Handler<SaslHandshakeRequest, SaslHandshakeResponse> = {
  api: SaslHandshake,
  minVersion: 0,
  maxVersion: 1,
  handle(): HandlerResult<SaslHandshakeResponse> {
    return { errorCode: errorCodes.ILLEGAL_SASL_STATE, mechanisms: [] };
  },
};
