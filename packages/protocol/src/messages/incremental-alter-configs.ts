import { array, bool, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * IncrementalAlterConfigs (API key 44), versions 0 to 1, flexible from 1.
 * KIP-339. Operations: 0 set, 1 delete, 2 append, 3 subtract.
 */
export const IncrementalAlterConfigs = api({
  key: 44,
  name: 'IncrementalAlterConfigs',
  versions: '0-1',
  flexible: '1+',
  request: {
    resources: array('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      configs: array('0+', {
        name: string('0+'),
        configOperation: int8('0+'),
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

export type IncrementalAlterConfigsRequest = RequestOf<typeof IncrementalAlterConfigs>;
export type IncrementalAlterConfigsResponse = ResponseOf<typeof IncrementalAlterConfigs>;
