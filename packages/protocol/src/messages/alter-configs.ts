import { array, bool, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * AlterConfigs (API key 33), versions 0 to 2, flexible from 2.
 * KIP-133. Replaces the whole config of a resource.
 */
export const AlterConfigs = api({
  key: 33,
  name: 'AlterConfigs',
  versions: '0-2',
  flexible: '2+',
  request: {
    resources: array('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      configs: array('0+', {
        name: string('0+'),
        value: string('0+', { nullable: '0+' }),
      }),
    }),
    validateOnly: bool('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    responses: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
      resourceType: int8('0+'),
      resourceName: string('0+'),
    }),
  },
});

export type AlterConfigsRequest = RequestOf<typeof AlterConfigs>;
export type AlterConfigsResponse = ResponseOf<typeof AlterConfigs>;
