import { array, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DeleteAcls (API key 31), versions 1 to 3, flexible from 2.
 * KIP-140; prefixed patterns from version 1 (KIP-290).
 */
export const DeleteAcls = api({
  key: 31,
  name: 'DeleteAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    filters: array('0+', {
      resourceTypeFilter: int8('0+'),
      resourceNameFilter: string('0+', { nullable: '0+' }),
      patternTypeFilter: int8('1+', { default: 3 }),
      principalFilter: string('0+', { nullable: '0+' }),
      hostFilter: string('0+', { nullable: '0+' }),
      operation: int8('0+'),
      permissionType: int8('0+'),
    }),
  },
  response: {
    throttleTimeMs: int32('0+'),
    filterResults: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
      matchingAcls: array('0+', {
        errorCode: int16('0+'),
        errorMessage: string('0+', { nullable: '0+' }),
        resourceType: int8('0+'),
        resourceName: string('0+'),
        patternType: int8('1+', { default: 3 }),
        principal: string('0+'),
        host: string('0+'),
        operation: int8('0+'),
        permissionType: int8('0+'),
      }),
    }),
  },
});

export type DeleteAclsRequest = RequestOf<typeof DeleteAcls>;
export type DeleteAclsResponse = ResponseOf<typeof DeleteAcls>;
