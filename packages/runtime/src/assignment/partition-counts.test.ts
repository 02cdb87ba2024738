import { describe, expect, it } from 'vitest';
import { MisconfiguredTopicError, MissingSourceTopicError, ShutdownError } from '../errors.ts';
import type { BuiltTopology, InternalTopic, Subtopology } from '../topology/built-topology.ts';
import { InternalTopics } from './internal-topics.ts';
import { resolvePartitionCounts, taskCount } from './partition-counts.ts';
import { FakeClient } from '../testing-support/fake-client.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { silentLogger } from '../logging/logger.ts';

function internal(name: string, partitionCount: number | null = null): InternalTopic {
  return { name, partitionCount, config: new Map([['segment.bytes', '52428800']]) };
}

function subtopology(id: number, parts: Partial<Subtopology>): Subtopology {
  return {
    id,
    sourceTopics: [],
    repartitionSourceTopics: [],
    repartitionSinkTopics: [],
    changelogs: [],
    copartitionGroups: [],
    ...parts,
  };
}

function topology(...subtopologies: Subtopology[]): BuiltTopology {
  return {
    subtopologies,
    global: null,
    isOnDisk: false,
    patterns: [],
    matching: () => topology(...subtopologies),
    offsetReset: () => null,
    instantiate: () => {
      throw new Error('not needed');
    },
  };
}

const rekeyed = topology(
  subtopology(0, { sourceTopics: ['a', 'b'], repartitionSinkTopics: ['r1'] }),
  subtopology(1, {
    sourceTopics: ['r1'],
    repartitionSourceTopics: [internal('r1')],
    repartitionSinkTopics: ['r2'],
  }),
  subtopology(2, {
    sourceTopics: ['r2'],
    repartitionSourceTopics: [internal('r2')],
    changelogs: [
      {
        name: 'app-store-changelog',
        storeName: 'store',
        partitionCount: null,
        isSourceTopic: false,
        config: new Map([['cleanup.policy', 'compact']]),
      },
    ],
  }),
);

describe('partition counts', () => {
  it('gives a repartition topic as many as the largest upstream source, through a chain', () => {
    const counts = resolvePartitionCounts(
      rekeyed,
      new Map([
        ['a', 3],
        ['b', 5],
      ]),
    );
    expect(counts.get('r1')).toBe(5);
    expect(counts.get('r2')).toBe(5);
    expect(taskCount(rekeyed.subtopologies[0] as Subtopology, counts)).toBe(5);
  });

  it('names all source topics that are missing', () => {
    expect(() => resolvePartitionCounts(rekeyed, new Map())).toThrow(MissingSourceTopicError);
    expect(() => resolvePartitionCounts(rekeyed, new Map())).toThrow(/topics a, b do not exist/);
  });

  it('follows the topics that a repartition topic is joined with', () => {
    const joined = topology(
      subtopology(0, { sourceTopics: ['a'], repartitionSinkTopics: ['r'] }),
      subtopology(1, {
        sourceTopics: ['r', 'table'],
        repartitionSourceTopics: [internal('r')],
        copartitionGroups: [['r', 'table']],
      }),
    );
    const counts = resolvePartitionCounts(
      joined,
      new Map([
        ['a', 2],
        ['table', 7],
      ]),
    );
    expect(counts.get('r')).toBe(7);
  });

  it('refuses topics that must match and do not, with their counts', () => {
    const joined = topology(
      subtopology(0, { sourceTopics: ['a', 'b'], copartitionGroups: [['a', 'b']] }),
    );
    expect(() =>
      resolvePartitionCounts(
        joined,
        new Map([
          ['a', 1],
          ['b', 2],
        ]),
      ),
    ).toThrow(/a \(1\), b \(2\)/);
  });

  it('says so when nothing tells a count', () => {
    const cyclic = topology(
      subtopology(0, {
        sourceTopics: ['r'],
        repartitionSourceTopics: [internal('r')],
        repartitionSinkTopics: ['r'],
      }),
    );
    expect(() => resolvePartitionCounts(cyclic, new Map())).toThrow(MisconfiguredTopicError);
  });

  it('refuses a repartition topic of no partitions', () => {
    const none = topology(
      subtopology(0, {
        sourceTopics: ['a', 'r'],
        repartitionSourceTopics: [{ ...internal('r'), partitionCount: 0 }],
        repartitionSinkTopics: ['r'],
      }),
    );
    expect(() => resolvePartitionCounts(none, new Map([['a', 1]]))).toThrow(
      /repartition\(\) asks for 0 partitions of r\. Give it at least 1/u,
    );
  });
});

describe('internal topics', () => {
  it('creates what is missing, with the configuration that it needs', async () => {
    const cluster = new FakeCluster();
    cluster.createTopic('a', 2);
    cluster.createTopic('b', 4);
    const options = { replicationFactor: -1, topicDefaults: new Map([['segment.bytes', '99']]) };
    const admin = new FakeClient(cluster).admin();
    await new InternalTopics(admin, options, new FakeClock(), silentLogger()).ensure(rekeyed);
    expect(cluster.partitionCount('r2')).toBe(4);
    expect(cluster.partitionCount('app-store-changelog')).toBe(4);
    expect(cluster.topicConfigs.get('r1')?.get('segment.bytes')).toBe('99');
    expect([...(cluster.topicConfigs.get('app-store-changelog') ?? [])]).toEqual([
      ['segment.bytes', '99'],
      ['cleanup.policy', 'compact'],
    ]);
  });

  it('refuses an internal topic with another number of partitions, and says what to do', async () => {
    const cluster = new FakeCluster();
    cluster.createTopic('a', 2);
    cluster.createTopic('b', 4);
    cluster.createTopic('r1', 3);
    const options = { replicationFactor: -1, topicDefaults: new Map<string, string>() };
    const admin = new FakeClient(cluster).admin();
    const topics = new InternalTopics(admin, options, new FakeClock(), silentLogger());
    await expect(topics.ensure(rekeyed)).rejects.toThrow(
      /r1 has 3, needs 4.*reset the application/,
    );
  });

  describe.each(['r1', 'app-store-changelog'])('175: %s (KAFKA-10357)', (topic) => {
    function setUp() {
      const cluster = new FakeCluster();
      cluster.createTopic('a', 2);
      cluster.createTopic('b', 4);
      const clock = new FakeClock();
      const admin = new FakeClient(cluster).admin();
      const options = { replicationFactor: -1, topicDefaults: new Map<string, string>() };
      const open = (): InternalTopics => new InternalTopics(admin, options, clock, silentLogger());
      return { cluster, clock, admin, open };
    }

    async function expectRefused(topics: InternalTopics, clock: FakeClock): Promise<void> {
      const refused = expect(topics.ensure(rekeyed)).rejects.toThrow(
        new RegExp(`deleted while the application runs: ${topic}\\. .*Reset the application`, 'u'),
      );
      await clock.advance(10_000);
      await refused;
    }

    it('is not made anew after it was deleted, whether it was made here or found', async () => {
      const { cluster, clock, open } = setUp();
      const [made, found] = [open(), open()];
      await made.ensure(rekeyed);
      await found.ensure(rekeyed);
      cluster.deleteTopic(topic);
      await expectRefused(made, clock);
      await expectRefused(found, clock);
      expect(cluster.partitionCount(topic)).toBeUndefined();
    });

    it('is not made anew by who was only assigned tasks that use it', async () => {
      const { cluster, clock, open } = setUp();
      await open().ensure(rekeyed);
      const follower = open();
      follower.assigned(rekeyed.subtopologies);
      cluster.deleteTopic(topic);
      await expectRefused(follower, clock);
      // Another instance, which knows of nothing: the application was started again.
      await open().ensure(rekeyed);
      expect(cluster.partitionCount(topic)).toBe(4);
    });

    it('is refused when somebody else has made it anew', async () => {
      const { cluster, clock, open } = setUp();
      const topics = open();
      await topics.ensure(rekeyed);
      await topics.ensure(rekeyed);
      cluster.deleteTopic(topic);
      cluster.createTopic(topic, 4);
      await expectRefused(topics, clock);
    });

    it('is waited for when a broker is only late, until the client is closed', async () => {
      const { clock, admin, open } = setUp();
      const topics = open();
      await topics.ensure(rekeyed);
      const describeTopics = admin.describeTopics.bind(admin);
      const without: typeof describeTopics = async (names) => {
        const known = new Map(await describeTopics(names));
        known.delete(topic);
        return known;
      };
      admin.describeTopics = without;
      const late = topics.ensure(rekeyed);
      await clock.advance(600);
      admin.describeTopics = describeTopics;
      await clock.advance(10_000);
      await late;

      admin.describeTopics = without;
      const ended = expect(topics.ensure(rekeyed)).rejects.toThrow(ShutdownError);
      await clock.advance(600);
      topics.close();
      await ended;
      expect(clock.timerCount).toBe(0);
    });
  });
});
