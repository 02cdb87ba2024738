import { describe, expect, it } from 'vitest';
import { Group } from './group.ts';
import { decodeRecord, groupRecord, groupTombstone, offsetRecord } from './group-records.ts';
import { GroupMember } from './members.ts';
import { ManualClock, TOPIC_ID } from './test-support/group-fixture.ts';
import { Deadline } from '../timers.ts';

const hex = (bytes: Buffer | null): string => bytes?.toString('hex') ?? 'null';

/** The hexadecimal texts are what Kafka 4.4's own message classes write. */
describe('records of __consumer_offsets', () => {
  it('writes offsets as Kafka 4.4 does: key 1, value 4 with the topic id', () => {
    const record = offsetRecord('grüp', 'orders', 3, {
      offset: 9_223_372_036_854_775_806n,
      leaderEpoch: 5,
      metadata: 'note',
      commitTimestamp: 1_700_000_000_123,
      expireTimestamp: -1,
      topicId: TOPIC_ID,
    });
    expect(hex(record.key)).toBe('000100056772c3bc7000066f726465727300000003');
    expect(hex(record.value)).toBe(
      '00047ffffffffffffffe00000005056e6f74650000018bcfe5687b010010abcdef0123456789abcdef0123456789',
    );
  });

  it('leaves out an unknown topic id, and has version 1 for an expiry', () => {
    const value = {
      offset: 1n,
      leaderEpoch: -1,
      metadata: '',
      commitTimestamp: 5,
      expireTimestamp: -1,
      topicId: 'AAAAAAAAAAAAAAAAAAAAAA',
    };
    expect(hex(offsetRecord('g', 't', 0, value).value)).toBe(
      '00040000000000000001ffffffff01000000000000000500',
    );
    const expiring = { ...value, leaderEpoch: 7, metadata: 'm', expireTimestamp: 99 };
    expect(hex(offsetRecord('g', 't', 0, expiring).value)).toBe(
      '0001000000000000000100016d00000000000000050000000000000063',
    );
  });

  it('writes groups as Kafka 4.4 does: key 2, value 3', () => {
    const clock = new ManualClock();
    const group = new Group('grüp', clock);
    const member = new GroupMember(
      { memberId: 'm-1', groupInstanceId: 'i', clientId: 'c', clientHost: '/127.0.0.1' },
      {
        rebalanceTimeoutMs: 60_000,
        sessionTimeoutMs: 10_000,
        protocols: [{ name: 'range', metadata: Buffer.from([1, 2]) }],
      },
      new Deadline(clock, () => undefined),
    );
    member.assignment = Buffer.from([3]);
    group.add(member, 'consumer');
    group.restore({
      protocolType: 'consumer',
      protocolName: 'range',
      generationId: 7,
      leaderId: 'm-1',
      stateTimestamp: 1_700_000_000_123,
    });
    const record = groupRecord(group);
    expect(hex(record.key)).toBe('000200056772c3bc70');
    expect(hex(record.value)).toBe(
      '00030008636f6e73756d657200000007000572616e676500036d2d310000018bcfe5687b0000000100036d2d31' +
        '000169000163000a2f3132372e302e302e310000ea60000027100000000201020000000103',
    );
    expect(hex(groupTombstone('grüp').key)).toBe('000200056772c3bc70');
    expect(groupTombstone('grüp').value).toBeNull();
    const pending = groupRecord(group, new Map([['m-1', Buffer.from([9, 9])]]));
    expect(hex(pending.value)).toMatch(/000000020909$/);
    expect(hex(groupRecord(group, new Map()).value)).toMatch(/0000000201020{8}$/);
  });

  it('writes an empty group without protocol or leader', () => {
    const group = new Group('g', new ManualClock());
    group.stateTimestamp = 5;
    expect(hex(groupRecord(group).value)).toBe('0003000000000000ffffffff000000000000000500000000');
  });

  it('reads its own, and tells kinds that it does not know', () => {
    const value = {
      offset: 2n ** 62n,
      leaderEpoch: 1,
      metadata: 'ü',
      commitTimestamp: 3,
      expireTimestamp: 4,
      topicId: 'AAAAAAAAAAAAAAAAAAAAAA',
    };
    const record = offsetRecord('g', 't', 9, value);
    expect(decodeRecord(record.key, record.value)).toEqual({
      kind: 'offset',
      groupId: 'g',
      topic: 't',
      partition: 9,
      // Version 1 has no place for the epoch.
      value: { ...value, leaderEpoch: -1 },
    });
    expect(decodeRecord(Buffer.from([0, 3, 1]), null)).toEqual({ kind: 'unknown', keyVersion: 3 });
  });
});
