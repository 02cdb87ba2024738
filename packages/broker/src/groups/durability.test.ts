import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultLogConfig, LogDir, parseLogConfig, systemClock } from '@millrace/compaction';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GroupCoordinator } from './coordinator.ts';
import { defaultGroupConfig } from './group-config.ts';
import { coordinatorPartition } from '../coordinators/coordinator-partition.ts';
import { commitOf, TestClient, TOPIC_ID } from './test-support/group-fixture.ts';

const PARTITIONS = 5;
const COMMITS = 10_000;
const GROUPS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta'];

let root: string;
const opened: { dir: LogDir; coordinator: GroupCoordinator }[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-groups-'));
});

afterEach(async () => {
  for (const { dir, coordinator } of opened.splice(0)) {
    coordinator.close();
    await dir.close();
  }
  rmSync(root, { recursive: true, force: true });
});

async function open(path: string): Promise<{ dir: LogDir; coordinator: GroupCoordinator }> {
  // Small segments, so that the offsets are spread over many.
  const config = {
    ...parseLogConfig(new Map([['cleanup.policy', 'compact']]), new Map()),
    segmentBytes: 100_000,
  };
  const dir = await LogDir.open(path, { configOf: () => config });
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    if (dir.log('__consumer_offsets', partition) === undefined) {
      dir.createLog('__consumer_offsets', partition, null, config);
    }
  }
  let uuids = 0;
  const coordinator = new GroupCoordinator({
    clock: systemClock,
    logger: pino({ level: 'silent' }),
    config: { ...defaultGroupConfig, offsetsLoadBufferBytes: 50_000 },
    topics: { hasPartition: () => true, topicId: () => TOPIC_ID },
    offsetsTopic: {
      partitionCount: PARTITIONS,
      partition: (index) => {
        const log = dir.log('__consumer_offsets', index);
        return log === undefined ? undefined : { leaderEpoch: 0, log };
      },
    },
    newUuid: () => `uuid-${(uuids += 1)}`,
  });
  coordinator.load();
  opened.push({ dir, coordinator });
  return { dir, coordinator };
}

/** All offsets of all groups, in one comparable value. */
function offsetsOf(coordinator: GroupCoordinator): unknown {
  return GROUPS.map((groupId) =>
    coordinator
      .fetchOffsets(groupId, null, true)
      .flatMap(({ name, partitions }) =>
        partitions.map(
          (one) => `${name}-${one.partitionIndex}@${one.committedOffset} ${one.metadata}`,
        ),
      )
      .sort(),
  );
}

describe('groups over a log on disk', () => {
  it(`has the same offsets and members after ${COMMITS} commits and a kill`, async () => {
    const first = await open(join(root, 'first'));
    const joined = await first.coordinator.joinGroup(
      {
        groupId: 'members',
        sessionTimeoutMs: 60_000,
        rebalanceTimeoutMs: 60_000,
        memberId: '',
        groupInstanceId: 'pod-0',
        protocolType: 'consumer',
        protocols: [{ name: 'range', metadata: Buffer.alloc(0) }],
        reason: null,
        requiresKnownMemberId: true,
        supportsSkippingAssignment: true,
      },
      new TestClient(),
    );
    const { memberId, generationId } = joined;
    await first.coordinator.syncGroup(
      {
        groupId: 'members',
        generationId,
        memberId,
        groupInstanceId: 'pod-0',
        protocolType: null,
        protocolName: null,
        assignments: [{ memberId, assignment: Buffer.from('everything') }],
      },
      new TestClient(),
    );
    for (let count = 0; count < COMMITS; count += 1) {
      const results = first.coordinator.commitOffsets({
        groupId: GROUPS[count % GROUPS.length] as string,
        generationId: -1,
        memberId: '',
        groupInstanceId: null,
        retentionTimeMs: -1n,
        supportsGroupIdNotFound: true,
        topics: commitOf(`topic-${count % 3}`, count % 11, BigInt(count) + 2n ** 40n, `#${count}`),
      });
      expect(results[0]?.partitions[0]?.errorCode).toBe(0);
    }
    const before = offsetsOf(first.coordinator);
    const described = first.coordinator.describeGroup('members');
    expect(described?.groupState).toBe('Stable');

    // What a kill leaves: the files as they are, nothing flushed, no clean-shutdown marker.
    cpSync(join(root, 'first'), join(root, 'killed'), { recursive: true });
    const second = await open(join(root, 'killed'));
    expect(offsetsOf(second.coordinator)).toEqual(before);
    expect(second.coordinator.describeGroup('members')).toEqual(described);
    const segments = [...second.dir.logs()].map((log) => log.logEndOffset);
    expect(segments.reduce((sum, one) => sum + one, 0n)).toBeGreaterThanOrEqual(BigInt(COMMITS));

    // And what a clean stop leaves.
    opened.splice(0, 1);
    first.coordinator.close();
    await first.dir.close();
    const third = await open(join(root, 'first'));
    expect(offsetsOf(third.coordinator)).toEqual(before);
  });

  it('refuses a commit that is larger than the log takes, and keeps the offset before', async () => {
    const { coordinator, dir } = await open(join(root, 'first'));
    const request = {
      groupId: 'wide',
      generationId: -1,
      memberId: '',
      groupInstanceId: null,
      retentionTimeMs: -1n,
      supportsGroupIdNotFound: true,
    };
    const commit = (size: number, offset: bigint) =>
      coordinator.commitOffsets({
        ...request,
        topics: [
          {
            name: 'topic',
            partitions: Array.from({ length: size }, (_, partitionIndex) => ({
              partitionIndex,
              committedOffset: offset,
              committedLeaderEpoch: -1,
              committedMetadata: 'x'.repeat(4_000),
            })),
          },
        ],
      });
    expect(commit(1, 1n)[0]?.partitions[0]?.errorCode).toBe(0);
    const log = dir.log('__consumer_offsets', coordinatorPartition('wide', PARTITIONS));
    const end = log?.logEndOffset;
    const limit = defaultLogConfig.maxMessageBytes;
    const tooLarge = commit(Math.ceil(limit / 4_000), 2n)[0]?.partitions ?? [];
    expect(new Set(tooLarge.map(({ errorCode }) => errorCode))).toEqual(new Set([-1]));
    expect(log?.logEndOffset).toBe(end);
    const fetched = coordinator.fetchOffsets('wide', null, false)[0]?.partitions;
    expect(fetched?.map(({ committedOffset }) => committedOffset)).toEqual([1n]);
  });
});
