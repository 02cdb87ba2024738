import { array, int16, int32, int8, string } from './field.ts';
import { api } from './schema.ts';
import type { RequestOf, ResponseOf } from './schema.ts';

/**
 * FindCoordinator (API key 10), versions 0 to 6, flexible from 3.
 * Key type 0 is a group, 1 a transaction (from version 1), 2 a share group (6, KIP-932). Several
 * keys in one request from version 4 (KIP-699).
 */
export const FindCoordinator = api({
  key: 10,
  name: 'FindCoordinator',
  versions: '0-6',
  flexible: '3+',
  request: {
    key: string('0-3'),
    keyType: int8('1+'),
    coordinatorKeys: array('4+', 'string'),
  },
  response: {
    throttleTimeMs: int32('1+', { ignorable: true }),
    errorCode: int16('0-3'),
    errorMessage: string('1-3', { nullable: '1-3', ignorable: true }),
    nodeId: int32('0-3'),
    host: string('0-3'),
    port: int32('0-3'),
    coordinators: array('4+', {
      key: string('4+'),
      nodeId: int32('4+'),
      host: string('4+'),
      port: int32('4+'),
      errorCode: int16('4+'),
      errorMessage: string('4+', { nullable: '4+', ignorable: true }),
    }),
  },
});

export type FindCoordinatorRequest = RequestOf<typeof FindCoordinator>;
export type FindCoordinatorResponse = ResponseOf<typeof FindCoordinator>;
