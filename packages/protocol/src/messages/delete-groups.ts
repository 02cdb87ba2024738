import { array, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * DeleteGroups (API key 42), versions 0 to 3, flexible from 2.
 * KIP-229.
 */
export const DeleteGroups = api({
  key: 42,
  name: 'DeleteGroups',
  versions: '0-3',
  flexible: '2+',
  request: {
    groupsNames: array('0+', 'string'),
  },
  response: {
    throttleTimeMs: int32('0+'),
    results: array('0+', {
      groupId: string('0+'),
      errorCode: int16('0+'),
      errorMessage: string('3+', { nullable: '3+', default: null, ignorable: true }),
    }),
  },
});

export type DeleteGroupsRequest = RequestOf<typeof DeleteGroups>;
export type DeleteGroupsResponse = ResponseOf<typeof DeleteGroups>;
