import { bytes, int16, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * SaslAuthenticate (API key 36), versions 0 to 2, flexible from 2.
 * KIP-152; session lifetime from version 1 (KIP-368).
 */
export const SaslAuthenticate = api({
  key: 36,
  name: 'SaslAuthenticate',
  versions: '0-2',
  flexible: '2+',
  request: {
    authBytes: bytes('0+'),
  },
  response: {
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: '0+' }),
    authBytes: bytes('0+'),
    sessionLifetimeMs: int64('1+', { ignorable: true }),
  },
});

export type SaslAuthenticateRequest = RequestOf<typeof SaslAuthenticate>;
export type SaslAuthenticateResponse = ResponseOf<typeof SaslAuthenticate>;
