import { ProtocolError, type GroupMetadataValue } from '@millrace/protocol';
import type { Group } from './group.ts';
import type { GroupContext } from './group-context.ts';
import { decodeRecord, type DecodedRecord } from './group-records.ts';
import type { GroupTable } from './group-table.ts';
import { GroupMember } from './members.ts';
import type { OffsetsLog, OffsetsReplay } from './offsets-log.ts';
import type { OffsetStore } from './offsets.ts';
import type { Rebalance } from './rebalance.ts';
import { Deadline } from '../timers.ts';

/**
 * Rebuilds groups and offsets from `__consumer_offsets`: the newest record of each key wins. Members are
 * back with their generation and assignment, and have one session timeout to show that they live, so a
 * restart of the broker costs no rebalance.
 */
export class GroupLoader implements OffsetsReplay {
  readonly #context: GroupContext;
  readonly #groups: GroupTable;
  readonly #offsets: OffsetStore;
  readonly #rebalance: Rebalance;
  readonly #log: OffsetsLog;
  readonly #values = new Map<string, GroupMetadataValue>();
  #unknownCount = 0;
  #unreadableCount = 0;

  constructor(
    context: GroupContext,
    groups: GroupTable,
    offsets: OffsetStore,
    rebalance: Rebalance,
    log: OffsetsLog,
  ) {
    this.#context = context;
    this.#groups = groups;
    this.#offsets = offsets;
    this.#rebalance = rebalance;
    this.#log = log;
  }

  load(): void {
    const start = this.#context.clock.monotonicMs();
    this.#log.load(this);
    for (const [groupId, value] of this.#values) this.#restore(groupId, value);
    for (const groupId of this.#offsets.groupIds()) this.#groups.getOrCreate(groupId);
    for (const groupId of this.#offsets.groupIdsInTransaction()) this.#groups.getOrCreate(groupId);
    this.#startTimers();
    const { logger, clock } = this.#context;
    const groupCount = [...this.#groups.all()].length;
    if (groupCount > 0) {
      logger.info({ groups: groupCount, ms: clock.monotonicMs() - start }, 'groups are loaded');
    }
    if (this.#unknownCount + this.#unreadableCount > 0) {
      logger.warn(
        { unknown: this.#unknownCount, unreadable: this.#unreadableCount },
        '__consumer_offsets holds records of other group types or of unknown versions; they are ignored',
      );
    }
  }

  record(key: Buffer, value: Buffer | null, logOffset: bigint, producerId: bigint): void {
    let record: DecodedRecord;
    try {
      record = decodeRecord(key, value);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#unreadableCount += 1;
      return;
    }
    switch (record.kind) {
      case 'offset': {
        const { groupId, topic, partition } = record;
        if (record.value === null) {
          this.#offsets.remove(groupId, topic, partition);
        } else {
          const committed = { ...record.value, logOffset };
          if (producerId === -1n) this.#offsets.commit(groupId, topic, partition, committed);
          else {
            this.#offsets.commitInTransaction(producerId, groupId, topic, partition, committed);
          }
        }
        return;
      }
      case 'group':
        if (record.value === null) this.#values.delete(record.groupId);
        else this.#values.set(record.groupId, detached(record.value));
        return;
      case 'unknown':
        this.#unknownCount += 1;
    }
  }

  endOfTransaction(producerId: bigint, isCommit: boolean, partition: number): void {
    this.#offsets.endTransaction(
      producerId,
      isCommit,
      (groupId) => this.#log.partitionOf(groupId) === partition,
    );
  }

  #restore(groupId: string, value: GroupMetadataValue): void {
    const group = this.#groups.getOrCreate(groupId);
    for (const stored of value.members) {
      const identity = {
        memberId: stored.memberId,
        groupInstanceId: stored.groupInstanceId,
        clientId: stored.clientId,
        clientHost: stored.clientHost,
      };
      const { sessionTimeout, rebalanceTimeout, subscription } = stored;
      const terms = {
        sessionTimeoutMs: sessionTimeout,
        // Records from before 0.10.1 have one timeout for both.
        rebalanceTimeoutMs: rebalanceTimeout === -1 ? sessionTimeout : rebalanceTimeout,
        protocols: [{ name: value.protocol ?? '', metadata: subscription }],
      };
      const session = new Deadline(this.#context.clock, () => {
        this.#rebalance.expireSession(group, member);
      });
      const member: GroupMember = new GroupMember(identity, terms, session);
      member.assignment = stored.assignment;
      group.add(member, value.protocolType);
    }
    group.restore({
      protocolType: value.protocolType === '' ? null : value.protocolType,
      protocolName: value.protocol,
      generationId: value.generation,
      leaderId: value.leader,
      stateTimestamp: Number(value.currentStateTimestamp),
    });
  }

  #startTimers(): void {
    for (const group of [...this.#groups.all()]) {
      for (const member of group.members()) member.session.set(member.sessionTimeoutMs);
      if (group.size > this.#context.config.maxSize) this.#shrink(group);
    }
  }

  /** `group.max.size` was lowered: members may commit before some of them are sent away. */
  #shrink(group: Group): void {
    this.#rebalance.prepare(
      group,
      `the loaded group has ${group.size} members, above group.max.size`,
    );
  }
}

/** The record's bytes are a view of what was read; the group outlives it. */
function detached(value: GroupMetadataValue): GroupMetadataValue {
  return {
    ...value,
    members: value.members.map((member) => ({
      ...member,
      subscription: Buffer.from(member.subscription),
      assignment: Buffer.from(member.assignment),
    })),
  };
}
