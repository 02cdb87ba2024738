import {
  CreateTopics,
  DeleteTopics,
  DescribeConfigs,
  DescribeGroups,
  FindCoordinator,
  IncrementalAlterConfigs,
  LeaveGroup,
  ListGroups,
  ListOffsets,
  Metadata,
  OffsetCommit,
  OffsetFetch,
  errorCodes,
} from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { TimeoutError } from '../../errors.ts';
import { silentLogger } from '../../logging/logger.ts';
import { FakeClock } from '../../testing-support/fake-clock.ts';
import { BrokerError, ConnectionError, MissingTopicError } from '../errors.ts';
import { Sleeper } from '../sleeper.ts';
import { FakeBrokers } from '../testing-support/fake-brokers.ts';
import { FakeTransport } from '../testing-support/fake-transport.ts';
import { ClusterAdmin } from './cluster-admin.ts';

const TIMEOUT_MS = 5_000;

function setUp(nodeCount = 2) {
  const clock = new FakeClock();
  const transport = new FakeTransport();
  const brokers = new FakeBrokers(transport, nodeCount);
  brokers.addTopic('t', 2);
  const cluster = new ClusterAdmin({
    transport,
    clock,
    random: () => 0.5,
    logger: silentLogger(),
    sleeper: new Sleeper(clock),
    requestTimeoutMs: 1_000,
    timeoutMs: TIMEOUT_MS,
  });
  return { clock, transport, brokers, cluster };
}

/** Waits for the call while the clock goes on. */
async function settled<T>(clock: FakeClock, call: Promise<T>): Promise<T | Error> {
  let outcome: { readonly result: T | Error } | null = null;
  const isSettled = (): boolean => outcome !== null;
  const settling = call.then(
    (result) => (outcome = { result }),
    (error: unknown) => (outcome = { result: error as Error }),
  );
  for (let i = 0; i < 400 && !isSettled(); i++) await clock.advance(50);
  if (!isSettled()) throw new Error('the call does not end');
  return (await settling).result;
}

const coordinator = { errorCode: 0, errorMessage: null, nodeId: 2, host: 'fake', port: 2 };

describe('ClusterAdmin', () => {
  it('gives up once every bootstrap server has refused', async () => {
    const { cluster, transport } = setUp();
    transport.on(Metadata, () => {
      throw new ConnectionError('refused');
    });
    await expect(cluster.reach(3)).rejects.toBeInstanceOf(ConnectionError);
    expect(transport.count(Metadata)).toBe(3);
  });

  it('reaches the cluster through the second server', async () => {
    const { cluster, transport } = setUp();
    const brokers = [
      { nodeId: 2, host: 'b', port: 2 },
      { nodeId: 1, host: 'a', port: 1 },
    ];
    let isFirst = true;
    transport.on(Metadata, () => {
      if (!isFirst) return { brokers, clusterId: 'c', controllerId: 2, topics: [] };
      isFirst = false;
      throw new ConnectionError('refused');
    });
    expect(await cluster.reach(2)).toEqual({
      clusterId: 'c',
      controllerId: 2,
      brokers: [
        { nodeId: 1, host: 'a', port: 1 },
        { nodeId: 2, host: 'b', port: 2 },
      ],
    });
  });

  it('tries again until its time is over, and says why', async () => {
    const { cluster, clock, transport } = setUp();
    transport.on(Metadata, () => {
      throw new ConnectionError('refused');
    });
    const startedAt = clock.monotonicMs();
    const error = await settled(clock, cluster.topics.list());
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as Error).message).toContain(
      `Could not list topics within ${TIMEOUT_MS} ms: refused`,
    );
    expect(clock.monotonicMs() - startedAt).toBeLessThanOrEqual(TIMEOUT_MS + 100);
    expect(transport.count(Metadata)).toBeGreaterThan(3);
  });

  describe('topics', () => {
    it('judges each of them, follows the controller and waits until brokers tell of them', async () => {
      const { cluster, clock, transport, brokers } = setUp();
      let attempts = 0;
      transport.on(CreateTopics, ({ nodeId, body }) => {
        expect(nodeId).toBe(1);
        attempts++;
        return {
          topics: body.topics.map(({ name }) => ({
            name,
            errorCode:
              attempts === 1
                ? errorCodes.NOT_CONTROLLER
                : name === 'old'
                  ? errorCodes.TOPIC_ALREADY_EXISTS
                  : errorCodes.NONE,
            errorMessage: null,
          })),
        };
      });
      const config = new Map<string, string>();
      const topics = ['new', 'old'].map((topic) => ({
        topic,
        partitionCount: 3,
        replicationFactor: 1,
        config,
      }));
      setTimeout(() => brokers.addTopic('new', 3), 0);
      const outcomes = await settled(clock, cluster.topics.create(topics));
      expect(attempts).toBe(2);
      if (outcomes instanceof Error) throw outcomes;
      expect(outcomes.get('new')).toBeNull();
      expect(outcomes.get('old')).toMatchObject({ kafkaName: 'TOPIC_ALREADY_EXISTS' });
    });

    it('are described without those that are missing', async () => {
      const { cluster } = setUp();
      const found = await cluster.topics.describe(['t', 'nope']);
      expect([...found.keys()]).toEqual(['t']);
      expect(found.get('t')?.partitions.map(({ partition }) => partition)).toEqual([0, 1]);
    });

    it('that brokers go on telling of after their deletion end the wait with an error', async () => {
      const { cluster, clock, transport } = setUp();
      transport.on(DeleteTopics, () => ({
        responses: [{ name: 't', errorCode: errorCodes.NONE, errorMessage: null }],
      }));
      const error = await settled(clock, cluster.topics.delete(['t']));
      expect(error).toBeInstanceOf(TimeoutError);
      expect((error as Error).message).toContain('see topics gone');
    });
  });

  describe('configs', () => {
    it('are told with what is set on the topic itself', async () => {
      const { cluster, transport } = setUp();
      const entry = { readOnly: false, isSensitive: false, synonyms: [], documentation: null };
      transport.on(DescribeConfigs, () => ({
        results: [
          {
            errorCode: 0,
            errorMessage: null,
            resourceType: 2,
            resourceName: 't',
            configs: [
              { ...entry, name: 'retention.ms', value: '1', configSource: 1 },
              { ...entry, name: 'cleanup.policy', value: 'delete', configSource: 5 },
            ],
          },
        ],
      }));
      expect(await cluster.configs.describeTopic('t')).toEqual([
        { name: 'cleanup.policy', value: 'delete', isOwn: false },
        { name: 'retention.ms', value: '1', isOwn: true },
      ]);
      transport.on(DescribeConfigs, () => ({
        results: [
          {
            errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
            errorMessage: null,
            resourceType: 2,
            resourceName: 'nope',
            configs: [],
          },
        ],
      }));
      await expect(cluster.configs.describeTopic('nope')).rejects.toBeInstanceOf(MissingTopicError);
    });

    it('are set and deleted by name, and a refusal has the words of the broker', async () => {
      const { cluster, transport } = setUp();
      transport.on(IncrementalAlterConfigs, ({ body }) => {
        expect(body.resources).toMatchObject([
          {
            resourceType: 2,
            resourceName: 't',
            configs: [
              { name: 'a', configOperation: 0, value: '1' },
              { name: 'b', configOperation: 1, value: null },
            ],
          },
        ]);
        const errorCode = body.validateOnly ? errorCodes.NONE : errorCodes.INVALID_CONFIG;
        const errorMessage = body.validateOnly ? null : 'a is too much';
        return { responses: [{ errorCode, errorMessage, resourceType: 2, resourceName: 't' }] };
      });
      const changes = [
        { name: 'a', value: '1' },
        { name: 'b', value: null },
      ];
      expect(await cluster.configs.alterTopic('t', changes, { validateOnly: true })).toBeNull();
      const error = await cluster.configs.alterTopic('t', changes);
      expect(error).toBeInstanceOf(BrokerError);
      expect(error?.message).toContain('a is too much');
    });
  });

  describe('offsets', () => {
    it('follow a leader that moves, and a missing partition takes nothing from the others', async () => {
      const { cluster, clock, transport, brokers } = setUp();
      const asked: number[] = [];
      transport.on(ListOffsets, ({ nodeId, body }) => {
        asked.push(nodeId);
        if (asked.length === 1) brokers.partition('t', 0).moveTo(2);
        return {
          topics: body.topics.map(({ name, partitions }) => ({
            name,
            partitions: partitions.map(({ partitionIndex, timestamp }) => ({
              partitionIndex,
              errorCode:
                partitionIndex === 0 && nodeId === 1
                  ? errorCodes.NOT_LEADER_OR_FOLLOWER
                  : errorCodes.NONE,
              offset: timestamp === -2n ? 3n : 40n,
            })),
          })),
        };
      });
      const found = await settled(
        clock,
        cluster.offsets.list([
          { topic: 't', partition: 0, at: 'latest' },
          { topic: 't', partition: 1, at: 'earliest' },
          { topic: 't', partition: 9, at: 'latest' },
        ]),
      );
      if (found instanceof Error) throw found;
      expect(found.get('t-0')).toBe(40n);
      expect(found.get('t-1')).toBe(3n);
      expect(found.get('t-9')).toMatchObject({ kafkaName: 'UNKNOWN_TOPIC_OR_PARTITION' });
      expect(asked).toEqual([1, 2]);
    });
  });

  describe('groups', () => {
    it('of all brokers are listed once, by id', async () => {
      const { cluster, transport } = setUp();
      transport.on(ListGroups, ({ nodeId }) => ({
        errorCode: 0,
        groups: [
          {
            groupId: nodeId === 1 ? 'z' : 'a',
            protocolType: 'consumer',
            groupState: 'Stable',
            groupType: 'Classic',
          },
        ],
      }));
      expect(await cluster.groups.list()).toEqual([
        { groupId: 'a', protocolType: 'consumer', state: 'Stable', type: 'classic' },
        { groupId: 'z', protocolType: 'consumer', state: 'Stable', type: 'classic' },
      ]);
    });

    it('are looked for again when their coordinator has moved', async () => {
      const { cluster, clock, transport } = setUp();
      let found = 0;
      transport.on(FindCoordinator, () => ({ ...coordinator, nodeId: ++found }));
      transport.on(DescribeGroups, ({ nodeId }) => ({
        groups: [
          {
            errorCode: nodeId === 1 ? errorCodes.NOT_COORDINATOR : errorCodes.NONE,
            groupId: 'g',
            groupState: 'Empty',
            protocolType: 'consumer',
            protocolData: '',
            members: [],
          },
        ],
      }));
      expect(await settled(clock, cluster.groups.describe('g'))).toMatchObject({ state: 'Empty' });
      expect(found).toBe(2);
    });

    it('have their offsets told and set, partition by partition', async () => {
      const { cluster, transport } = setUp();
      transport.on(FindCoordinator, () => coordinator);
      transport.on(OffsetFetch, ({ nodeId, body }) => {
        expect(nodeId).toBe(2);
        expect(body.topics).toBeNull();
        return {
          errorCode: 0,
          topics: [
            {
              name: 't',
              partitions: [
                { partitionIndex: 0, committedOffset: 7n, metadata: 'm', errorCode: 0 },
                { partitionIndex: 1, committedOffset: -1n, metadata: null, errorCode: 0 },
              ],
            },
          ],
        };
      });
      expect([...(await cluster.groups.offsets('g')).values()]).toEqual([
        { topic: 't', partition: 0, offset: 7n, metadata: 'm' },
      ]);
      transport.on(OffsetCommit, ({ body }) => {
        expect(body).toMatchObject({ generationIdOrMemberEpoch: -1, memberId: '' });
        return {
          topics: body.topics.map(({ name, partitions }) => ({
            name,
            partitions: partitions.map(({ partitionIndex }) => ({
              partitionIndex,
              errorCode: partitionIndex === 1 ? errorCodes.UNKNOWN_MEMBER_ID : errorCodes.NONE,
            })),
          })),
        };
      });
      const outcomes = await cluster.groups.alterOffsets(
        'g',
        [0, 1].map((partition) => ({ topic: 't', partition, offset: 1n, metadata: '' })),
      );
      expect(outcomes.get('t-0')).toBeNull();
      expect(outcomes.get('t-1')).toMatchObject({ kafkaName: 'UNKNOWN_MEMBER_ID' });
    });

    it('tell which offsets an open transaction holds, and only those', async () => {
      const { cluster, transport } = setUp();
      transport.on(FindCoordinator, () => coordinator);
      transport.on(OffsetFetch, ({ body }) => {
        expect(body.requireStable).toBe(true);
        return {
          errorCode: 0,
          topics: (body.topics ?? []).map(({ name, partitionIndexes }) => ({
            name,
            partitions: partitionIndexes.map((partitionIndex) => ({
              partitionIndex,
              committedOffset: partitionIndex === 0 ? 3n : -1n,
              metadata: null,
              errorCode: partitionIndex === 1 ? errorCodes.UNSTABLE_OFFSET_COMMIT : 0,
            })),
          })),
        };
      });
      const partitions = [0, 1, 2].map((partition) => ({ topic: 't', partition }));
      expect(await cluster.groups.pendingOffsets('g', partitions)).toEqual([
        { topic: 't', partition: 1 },
      ]);
      expect(await cluster.groups.pendingOffsets('g', [])).toEqual([]);
      expect(transport.count(OffsetFetch)).toBe(1);
    });

    it('lose the members that an administrator removes; those that have gone are no error', async () => {
      const { cluster, clock, transport } = setUp();
      transport.on(FindCoordinator, () => coordinator);
      let attempts = 0;
      transport.on(LeaveGroup, ({ body }) => {
        expect(body.members).toMatchObject([
          { memberId: 'a', groupInstanceId: null },
          { memberId: 'b', groupInstanceId: 'two' },
        ]);
        attempts++;
        return {
          errorCode: attempts === 1 ? errorCodes.COORDINATOR_LOAD_IN_PROGRESS : errorCodes.NONE,
          members: body.members.map(({ memberId, groupInstanceId }) => ({
            memberId,
            groupInstanceId: groupInstanceId ?? null,
            errorCode: memberId === 'a' ? errorCodes.UNKNOWN_MEMBER_ID : errorCodes.NONE,
          })),
        };
      });
      const members = [
        { memberId: 'a', groupInstanceId: null },
        { memberId: 'b', groupInstanceId: 'two' },
      ];
      expect(await settled(clock, cluster.groups.removeMembers('g', members))).toBeUndefined();
      expect(attempts).toBe(2);
    });
  });
});
