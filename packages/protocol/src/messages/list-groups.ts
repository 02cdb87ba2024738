import { array, int16, int32, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * ListGroups (API key 16), versions 0 to 5, flexible from 3.
 * Filter by state from version 4 (KIP-518), by type from 5 (KIP-848).
 */
export const ListGroups = api({
  key: 16,
  name: 'ListGroups',
  versions: '0-5',
  flexible: '3+',
  request: {
    statesFilter: array('4+', 'string'),
    typesFilter: array('5+', 'string'),
  },
  response: {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16('0+'),
    groups: array('0+', {
      groupId: string('0+'),
      protocolType: string('0+'),
      groupState: string('4+', { ignorable: true }),
      groupType: string('5+', { ignorable: true }),
    }),
  },
});

export type ListGroupsRequest = RequestOf<typeof ListGroups>;
export type ListGroupsResponse = ResponseOf<typeof ListGroups>;
