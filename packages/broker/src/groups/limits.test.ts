import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { GROUP_PENDING_MEMBERS, GROUPS, MEMBER_PROTOCOLS } from './limits.ts';
import { commitOf, GroupFixture, TestClient } from './test-support/group-fixture.ts';

describe('bounds of the coordinator', () => {
  it('refuses one group more than it holds, by commit and by join, and takes it when there is room', () => {
    const group = new GroupFixture();
    const topics = commitOf('orders', 0, 1n);
    for (let count = 0; count < GROUPS; count += 1) group.commit({ groupId: `g${count}`, topics });
    expect(group.commit({ groupId: 'one more', topics })).toEqual([errorCodes.POLICY_VIOLATION]);
    expect(group.join({ groupId: 'one more' }).result?.errorCode).toBe(errorCodes.POLICY_VIOLATION);
    expect(group.commit({ groupId: 'g7', topics })).toEqual([0]);
    group.coordinator.deleteGroups(['g7']);
    expect(group.commit({ groupId: 'one more', topics })).toEqual([0]);
  });

  it('gives out no further member ids while too many are not used', () => {
    const group = new GroupFixture();
    for (let count = 0; count < GROUP_PENDING_MEMBERS; count += 1) group.join();
    expect(group.join().result?.errorCode).toBe(errorCodes.GROUP_MAX_SIZE_REACHED);
    group.clock.advance(10_000);
    expect(group.join().result?.errorCode).toBe(errorCodes.MEMBER_ID_REQUIRED);
  });

  it('gives the longest of names a member id that an answer can hold', () => {
    const group = new GroupFixture();
    const names = ['y'.repeat(32_767), `${'y'.repeat(999)}\u{1f600}`.padEnd(8_000, 'z')];
    for (const name of names) {
      const { memberId } = group.join({}, new TestClient(name)).result ?? {};
      expect(memberId).toMatch(/^y{999,1000}-/);
      expect(Buffer.from(memberId ?? '').toString()).toBe(memberId);
    }
  });

  it('refuses a member with too many protocols', () => {
    const group = new GroupFixture();
    const protocols = Array.from({ length: MEMBER_PROTOCOLS + 1 }, (_, index) => ({
      name: `p${index}`,
      metadata: Buffer.alloc(0),
    }));
    expect(group.join({ protocols }).result?.errorCode).toBe(
      errorCodes.INCONSISTENT_GROUP_PROTOCOL,
    );
    expect(group.join({ protocols: protocols.slice(1) }).result?.errorCode).toBe(
      errorCodes.MEMBER_ID_REQUIRED,
    );
  });
});
