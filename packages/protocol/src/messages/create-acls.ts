import { array, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * CreateAcls (API key 30), versions 1 to 3, flexible from 2.
 * KIP-140; prefixed patterns from version 1 (KIP-290).
 */
export const CreateAcls = api({
  key: 30,
  name: 'CreateAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    creations: array('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      resourcePatternType: int8('1+', { default: 3 }),
      principal: string('0+'),
      host: string('0+'),
      operation: int8('0+'),
      permissionType: int8('0+'),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
    }),
  },
});

export type CreateAclsRequest = RequestOf<typeof CreateAcls>;
export type CreateAclsResponse = ResponseOf<typeof CreateAcls>;
