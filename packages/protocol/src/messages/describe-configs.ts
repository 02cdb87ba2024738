import { array, bool, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DescribeConfigs (API key 32), versions 1 to 4, flexible from 4.
 * KIP-133; synonyms and sources from version 1 (KIP-226), types and documentation from 3
 * (KIP-569).
 */
export const DescribeConfigs = api({
  key: 32,
  name: 'DescribeConfigs',
  versions: '1-4',
  flexible: '4+',
  request: {
    resources: array('0+', {
      resourceType: int8('0+'),
      resourceName: string('0+'),
      configurationKeys: array('0+', 'string', { nullable: '0+' }),
    }),
    includeSynonyms: bool('1+'),
    includeDocumentation: bool('3+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array('0+', {
      errorCode: int16('0+'),
      errorMessage: string('0+', { nullable: '0+' }),
      resourceType: int8('0+'),
      resourceName: string('0+'),
      configs: array('0+', {
        name: string('0+'),
        value: string('0+', { nullable: '0+' }),
        readOnly: bool('0+'),
        configSource: int8('1+', { default: -1, ignorable: true }),
        isSensitive: bool('0+'),
        synonyms: array(
          '1+',
          {
            name: string('1+'),
            value: string('1+', { nullable: '0+' }),
            source: int8('1+'),
          },
          { ignorable: true },
        ),
        configType: int8('3+', { ignorable: true }),
        documentation: string('3+', { nullable: '0+', ignorable: true }),
      }),
    }),
  },
});

export type DescribeConfigsRequest = RequestOf<typeof DescribeConfigs>;
export type DescribeConfigsResponse = ResponseOf<typeof DescribeConfigs>;
