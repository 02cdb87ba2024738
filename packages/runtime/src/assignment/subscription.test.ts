import { describe, expect, it } from 'vitest';
import { AssignmentVersionError } from '../errors.ts';
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from './subscription.ts';

const subscription = {
  processId: 'process',
  generation: 7,
  activeTasks: [
    { subtopology: 0, partition: 1 },
    { subtopology: 3, partition: 2 },
  ],
  shutdownReason: null,
};

describe('user data of the group protocol', () => {
  it('comes back as it went', () => {
    for (const shutdownReason of [null, 'no hope']) {
      const data = { ...subscription, shutdownReason };
      expect(decodeSubscription(encodeSubscription(data))).toEqual(data);
    }
    const assignment = {
      error: 1 as const,
      errorMessage: 'no topic',
      activeTasks: subscription.activeTasks,
      sourceTopics: new Map([
        [0, ['orders', 'customers']],
        [3, ['app-by-customer-repartition']],
      ]),
    };
    expect(decodeAssignment(encodeAssignment(assignment))).toEqual(assignment);
  });

  it('takes the data of version 1, which had neither source topics nor a reason to shut down', () => {
    const first = encodeSubscription({ ...subscription, shutdownReason: 'unknown then' });
    first.writeInt16BE(1, 2);
    expect(decodeSubscription(first)).toEqual(subscription);
    const assignment = {
      error: 0 as const,
      errorMessage: '',
      activeTasks: subscription.activeTasks,
      sourceTopics: new Map(),
    };
    const data = encodeAssignment(assignment);
    const older = data.subarray(0, data.length - 4);
    older.writeInt16BE(1, 2);
    expect(decodeAssignment(older)).toEqual(assignment);
  });

  it('reads what a later version wrote, if that version allows it', () => {
    const data = encodeSubscription(subscription);
    data.writeInt16BE(9, 2);
    expect(decodeSubscription(Buffer.concat([data, Buffer.from('more')]))).toEqual(subscription);
  });

  it('refuses a version that it cannot read, and says what to do', () => {
    const data = encodeSubscription(subscription);
    data.writeInt16BE(9, 2);
    data.writeInt16BE(8, 4);
    expect(() => decodeSubscription(data)).toThrow(AssignmentVersionError);
    expect(() => decodeSubscription(data)).toThrow(/needs at least version 8.*Upgrade/);
  });

  it.each([
    ['empty', Buffer.alloc(0)],
    ['a foreign application', Buffer.from('{"topics":["a"]}')],
    ['a Java member', Buffer.from('0000000b0000000b', 'hex')],
  ])('refuses data of %s', (_, data) => {
    expect(() => decodeSubscription(data)).toThrow(AssignmentVersionError);
  });

  it('never reads past the end', () => {
    const data = encodeSubscription(subscription);
    for (let length = 6; length < data.length; length++) {
      expect(() => decodeSubscription(data.subarray(0, length))).toThrow();
    }
    const huge = encodeSubscription({ ...subscription, activeTasks: [] });
    // Before the reason to shut down, which is null.
    huge.writeInt32BE(0x7fffffff, huge.length - 6);
    expect(() => decodeSubscription(huge)).toThrow(/names 2147483647 tasks/);
  });
});
