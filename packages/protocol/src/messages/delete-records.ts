import { array, int16, int32, int64, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DeleteRecords (API key 21), versions 0 to 2, flexible from 2.
 * KIP-107. An offset of -1 means up to the high watermark.
 */
export const DeleteRecords = api({
  key: 21,
  name: 'DeleteRecords',
  versions: '0-2',
  flexible: '2+',
  request: {
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        offset: int64('0+'),
      }),
    }),
    timeoutMs: int32('0+'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    topics: array('0+', {
      name: string('0+'),
      partitions: array('0+', {
        partitionIndex: int32('0+'),
        lowWatermark: int64('0+'),
        errorCode: int16('0+'),
      }),
    }),
  },
});

export type DeleteRecordsRequest = RequestOf<typeof DeleteRecords>;
export type DeleteRecordsResponse = ResponseOf<typeof DeleteRecords>;
