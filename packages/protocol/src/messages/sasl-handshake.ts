import { array, int16, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * SaslHandshake (API key 17), versions 0 to 1, classic only.
 * With version 1 the client goes on with SaslAuthenticate requests (KIP-152).
 */
export const SaslHandshake = api({
  key: 17,
  name: 'SaslHandshake',
  versions: '0-1',
  flexible: 'none',
  request: {
    mechanism: string('0+'),
  },
  response: {
    errorCode: int16('0+'),
    mechanisms: array('0+', 'string'),
  },
});

export type SaslHandshakeRequest = RequestOf<typeof SaslHandshake>;
export type SaslHandshakeResponse = ResponseOf<typeof SaslHandshake>;
