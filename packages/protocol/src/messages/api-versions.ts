import { array, bool, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * ApiVersions (API key 18), versions 0 to 5, flexible from 3.
 * Its response header is always version 0, since the client cannot know the broker's version
 * before it has read it. Features are tagged fields from version 3 (KIP-584).
 */
export const ApiVersions = api({
  key: 18,
  name: 'ApiVersions',
  versions: '0-5',
  flexible: '3+',
  request: {
    clientSoftwareName: string('3+', { ignorable: true }),
    clientSoftwareVersion: string('3+', { ignorable: true }),
    clusterId: string('5+', { nullable: '5+', default: null, ignorable: true }),
    nodeId: int32('5+', { default: -1, ignorable: true }),
  },
  response: {
    errorCode: int16('0+'),
    apiKeys: array('0+', {
      apiKey: int16('0+'),
      minVersion: int16('0+'),
      maxVersion: int16('0+'),
    }),
    throttleTimeMs: int32('1+', { ignorable: true }),
    supportedFeatures: array(
      '3+',
      {
        name: string('3+'),
        minVersion: int16('3+'),
        maxVersion: int16('3+'),
      },
      { tag: 0, ignorable: true },
    ),
    finalizedFeaturesEpoch: int64('3+', { default: -1n, tag: 1, ignorable: true }),
    finalizedFeatures: array(
      '3+',
      {
        name: string('3+'),
        maxVersionLevel: int16('3+'),
        minVersionLevel: int16('3+'),
      },
      { tag: 2, ignorable: true },
    ),
    zkMigrationReady: bool('3+', { tag: 3, ignorable: true }),
  },
});

export type ApiVersionsRequest = RequestOf<typeof ApiVersions>;
export type ApiVersionsResponse = ResponseOf<typeof ApiVersions>;
