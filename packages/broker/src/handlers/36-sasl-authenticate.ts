import {
  errorCodes,
  SaslAuthenticate,
  type SaslAuthenticateRequest,
  type SaslAuthenticateResponse,
} from '@millrace/protocol';
import type { Handler, HandlerResult } from './handler.ts';

/** SaslAuthenticate, versions 0 to 2: refused, see SaslHandshake. */
export const saslAuthenticateHandler: Handler<SaslAuthenticateRequest, SaslAuthenticateResponse> = {
  api: SaslAuthenticate,
  minVersion: 0,
  maxVersion: 2,
  handle(): HandlerResult<SaslAuthenticateResponse> {
    return {
      errorCode: errorCodes.ILLEGAL_SASL_STATE,
      errorMessage: 'This listener does not use SASL; connect without it.',
    };
  },
};
