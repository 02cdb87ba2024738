import { array, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DescribeAcls (API key 29), versions 1 to 3, flexible from 2.
 * KIP-140; prefixed patterns from version 1 (KIP-290).
 */
export const DescribeAcls = api({
  key: 29,
  name: 'DescribeAcls',
  versions: '1-3',
  flexible: '2+',
  request: {
    resourceTypeFilter: int8('0+'),
    resourceNameFilter: string('0+', { nullable: '0+' }),
    patternTypeFilter: int8('1+', { default: 3 }),
    principalFilter: string('0+', { nullable: '0+' }),
    hostFilter: string('0+', { nullable: '0+' }),
    operation: int8('0+'),
    permissionType: int8('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    errorCode: int16('0+'),
    errorMessage: string('0+', { nullable: '0+' }),
    resources: array('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      patternType: int8('1+', { default: 3 }),
      acls: array('0+', {
        principal: string('0+'),
        host: string('0+'),
        operation: int8('0+'),
        permissionType: int8('0+'),
      }),
    }),
  },
});

export type DescribeAclsRequest = RequestOf<typeof DescribeAcls>;
export type DescribeAclsResponse = ResponseOf<typeof DescribeAcls>;
