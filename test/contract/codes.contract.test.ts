/** What is wrong with a request, in the code that Kafka has for it: one line a mistake. */
import {
  AlterConfigs,
  type Api,
  CreatePartitions,
  CreateTopics,
  DeleteRecords,
  DeleteTopics,
  DescribeCluster,
  DescribeConfigs,
  DescribeTopicPartitions,
  type Encodable,
  errorByCode,
  type ErrorName,
  Fetch,
  FindCoordinator,
  IncrementalAlterConfigs,
  ListOffsets,
  Metadata,
  OffsetForLeaderEpoch,
  Produce,
  SyncGroup,
  ZERO_UUID,
} from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { batchOf, RawClient } from '../support/raw-client.ts';

const TOPIC = 2;
const BROKER = 4;
const NOWHERE = 'AAAAAAAAAAAAAAAAAAAAAg';
const [SET, DELETE, APPEND] = [0, 1, 2];

describeOnBothBrokers('codes', (broker) => {
  let client: RawClient;
  let topic: string;
  let topicId: string;

  beforeAll(async () => {
    client = await RawClient.connect(broker().bootstrapServers);
    topic = unique('codes');
    await client.send(CreateTopics, 7, {
      topics: [{ name: topic, numPartitions: 2, replicationFactor: 1 }],
      timeoutMs: 10_000,
    });
    for (topicId = ZERO_UUID; topicId === ZERO_UUID;) {
      const { topics } = await client.send(Metadata, 12, { topics: [{ name: topic }] });
      topicId = topics[0]?.topicId ?? ZERO_UUID;
    }
    // Kafka's broker learns of its leadership a little later.
    for (const index of [0, 1]) {
      const topicData = [{ name: topic, partitionData: [{ index, records: good() }] }];
      const once = () => codes(Produce, 9, { acks: -1, timeoutMs: 10_000, topicData });
      while ((await once()).length > 0);
    }
  });
  afterAll(() => client.close());

  const good = (): Buffer => batchOf([{ value: 'a' }, { value: 'b' }]);

  /** Every error code of the answer, from outside in, without those that say that all is well. */
  async function codes<Req, Res>(
    api: Api<Req, Res>,
    version: number,
    body: Encodable<Req>,
  ): Promise<ErrorName[]> {
    const found: ErrorName[] = [];
    JSON.stringify(await client.send(api, version, body), (key, value: unknown) => {
      if (/errorCode$/i.test(key) && typeof value === 'number' && value !== 0) {
        found.push(errorByCode(value).name);
      }
      return typeof value === 'bigint' ? String(value) : value;
    });
    return found;
  }

  describe('of produce', () => {
    const produce = (records: Buffer | null, over: object = {}, partition: object = {}) =>
      codes(Produce, 9, {
        acks: -1,
        timeoutMs: 10_000,
        topicData: [{ name: topic, partitionData: [{ index: 0, records, ...partition }] }],
        ...over,
      });
    const changed = (position: number, value: number): Buffer => {
      const copy = good();
      copy[position] = value;
      return copy;
    };

    it.each<[string, () => Buffer, ErrorName[]]>([
      ['zeros', () => Buffer.alloc(100), ['CORRUPT_MESSAGE']],
      ['an unknown format', () => changed(16, 3), ['CORRUPT_MESSAGE']],
      ['an old format', () => changed(16, 1), ['INVALID_RECORD']],
      ['a wrong checksum', () => changed(60, 0xee), ['CORRUPT_MESSAGE']],
      ['half a batch', () => good().subarray(0, 70), ['INVALID_RECORD']],
      ['two batches', () => Buffer.concat([good(), good()]), ['INVALID_RECORD']],
      ['a batch with something behind it', () => Buffer.concat([good(), Buffer.alloc(5)]), []],
    ])('%s', async (_what, records, expected) => {
      expect(await produce(records())).toEqual(expected);
    });

    it('other places and acks', async () => {
      expect(await produce(good(), {}, { index: 9 })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
      expect(await produce(good(), {}, { index: -1 })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
      expect(await produce(good(), { acks: 2 })).toEqual(['INVALID_REQUIRED_ACKS']);
      expect(await produce(good(), { acks: -2 })).toEqual(['INVALID_REQUIRED_ACKS']);
      const byId = (id: string, index: number) =>
        codes(Produce, 13, {
          acks: -1,
          timeoutMs: 10_000,
          topicData: [{ topicId: id, partitionData: [{ index, records: good() }] }],
        });
      expect(await byId(topicId, 1)).toEqual([]);
      expect(await byId(NOWHERE, 0)).toEqual(['UNKNOWN_TOPIC_ID']);
      expect(await byId(ZERO_UUID, 0)).toEqual(['UNKNOWN_TOPIC_ID']);
    });
  });

  describe('of fetch', () => {
    const fetch = (version: number, over: object, partition: object = {}, of: object = {}) =>
      codes(Fetch, version, {
        maxWaitMs: 0,
        minBytes: 1,
        topics: [
          {
            ...(version < 13 ? { topic } : { topicId }),
            partitions: [
              { partition: 0, fetchOffset: 0n, partitionMaxBytes: 100_000, ...partition },
            ],
            ...of,
          },
        ],
        ...over,
      });

    it.each<[string, number, object, ErrorName[]]>([
      [
        'a session that is not there',
        11,
        { sessionId: 77, sessionEpoch: 1 },
        ['FETCH_SESSION_ID_NOT_FOUND'],
      ],
      [
        'a session without an id',
        11,
        { sessionId: 0, sessionEpoch: 5 },
        ['FETCH_SESSION_ID_NOT_FOUND'],
      ],
      ['a new session in place of another', 11, { sessionId: 77, sessionEpoch: 0 }, []],
      ['the end of a session', 11, { sessionId: 77, sessionEpoch: -1 }, []],
      ['a replica that is none', 12, { replicaId: 5 }, ['NOT_LEADER_OR_FOLLOWER']],
      [
        'the same from version 15 on',
        15,
        { replicaState: { replicaId: 5 } },
        ['NOT_LEADER_OR_FOLLOWER'],
      ],
    ])('%s', async (_what, version, over, expected) => {
      expect(await fetch(version, over)).toEqual(expected);
    });

    it('other places', async () => {
      expect(await fetch(12, {}, { fetchOffset: 999n })).toEqual(['OFFSET_OUT_OF_RANGE']);
      expect(await fetch(12, {}, { fetchOffset: -5n })).toEqual(['OFFSET_OUT_OF_RANGE']);
      expect(await fetch(12, {}, { partition: 9 })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
      expect(await fetch(13, {}, { partition: 9 })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
      expect(await fetch(12, {}, {}, { topic: 'no-such' })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
      expect(await fetch(13, {}, {}, { topicId: NOWHERE })).toEqual(['UNKNOWN_TOPIC_ID']);
      expect(await fetch(12, {}, { currentLeaderEpoch: 99 })).toEqual(['UNKNOWN_LEADER_EPOCH']);
      expect(await fetch(12, {}, { lastFetchedEpoch: 99 })).toEqual(['OFFSET_OUT_OF_RANGE']);
    });
  });

  it('of offsets', async () => {
    const list = (version: number, timestamp: bigint, times = 1, partition: object = {}) =>
      codes(ListOffsets, version, {
        replicaId: -1,
        topics: [
          {
            name: topic,
            partitions: Array.from({ length: times }, () => ({
              partitionIndex: 0,
              timestamp,
              ...partition,
            })),
          },
        ],
      });
    const firstVersions = [
      [-3n, 7],
      [-4n, 8],
      [-5n, 9],
      [-6n, 11],
    ] as const;
    for (const [timestamp, first] of firstVersions) {
      expect(await list(first, timestamp), `${timestamp}`).toEqual([]);
      expect(await list(first - 1, timestamp), `${timestamp}`).toEqual(['UNSUPPORTED_VERSION']);
    }
    expect(await list(8, -7n)).toEqual(['UNSUPPORTED_VERSION']);
    expect(new Set(await list(8, -1n, 2))).toEqual(new Set(['INVALID_REQUEST']));
    expect(await list(8, -1n, 1, { currentLeaderEpoch: 9 })).toEqual(['UNKNOWN_LEADER_EPOCH']);
    expect(await list(8, -1n, 1, { partitionIndex: 9 })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
    const epochs = await codes(OffsetForLeaderEpoch, 4, {
      topics: [
        {
          topic,
          partitions: [
            { partition: 0, leaderEpoch: 0 },
            { partition: 9, leaderEpoch: 0 },
            { partition: 1, leaderEpoch: 0, currentLeaderEpoch: 9 },
          ],
        },
      ],
    });
    expect(epochs).toEqual(['UNKNOWN_TOPIC_OR_PARTITION', 'UNKNOWN_LEADER_EPOCH']);
  });

  it('of metadata', async () => {
    const ask = (version: number, topics: object[]) =>
      client.send(Metadata, version, { topics, allowAutoTopicCreation: false });
    const mixed = await ask(12, [{ name: null, topicId }, { name: topic }, { name: 'no-such' }]);
    expect(mixed.topics.map(({ name, errorCode }) => [name, errorCode])).toEqual([[topic, 0]]);
    const early = await ask(11, [{ name: null, topicId }]);
    expect(early).toMatchObject({ brokers: [], controllerId: -1 });
    expect(early.topics.map(({ errorCode }) => errorByCode(errorCode).name)).toEqual([
      'INVALID_REQUEST',
    ]);
    const names = ['no-such', '', '..', 'a b', 'x'.repeat(250)];
    const { topics } = await ask(
      12,
      names.map((name) => ({ name })),
    );
    const byName = new Map(
      topics.map(({ name, errorCode }) => [name, errorByCode(errorCode).name]),
    );
    expect(names.map((name) => byName.get(name))).toEqual([
      'UNKNOWN_TOPIC_OR_PARTITION',
      'INVALID_TOPIC_EXCEPTION',
      'INVALID_TOPIC_EXCEPTION',
      'INVALID_TOPIC_EXCEPTION',
      'INVALID_TOPIC_EXCEPTION',
    ]);
  });

  describe('of new topics', () => {
    const create = (over: object, twice = false) => {
      const one = { name: unique('new'), numPartitions: 1, replicationFactor: 1, ...over };
      return codes(CreateTopics, 7, { topics: twice ? [one, one] : [one], timeoutMs: 10_000 });
    };
    const byHand = (...assignments: [number, number[]][]) => ({
      numPartitions: -1,
      replicationFactor: -1,
      assignments: assignments.map(([partitionIndex, brokerIds]) => ({
        partitionIndex,
        brokerIds,
      })),
    });
    const config = (...configs: [string, string | null][]) => ({
      configs: configs.map(([name, value]) => ({ name, value })),
    });

    it.each<[string, object, ErrorName[]]>([
      ['no partitions', { numPartitions: 0 }, ['INVALID_PARTITIONS']],
      ['no replicas', { replicationFactor: 0 }, ['INVALID_REPLICATION_FACTOR']],
      ['neither', { numPartitions: 0, replicationFactor: 0 }, ['INVALID_REPLICATION_FACTOR']],
      ['two replicas', { replicationFactor: 2 }, ['INVALID_REPLICATION_FACTOR']],
      ['far too many', { numPartitions: 2_147_483_647 }, ['POLICY_VIOLATION']],
      ['no name', { name: '' }, ['INVALID_TOPIC_EXCEPTION']],
      ['a name of dots', { name: '..' }, ['INVALID_TOPIC_EXCEPTION']],
      ['by hand', byHand([0, [1]], [1, [1]]), []],
      ['by hand, and a count', { ...byHand([0, [1]]), numPartitions: 1 }, ['INVALID_REQUEST']],
      ['a gap', byHand([1, [1]]), ['INVALID_REPLICA_ASSIGNMENT']],
      ['a negative one', byHand([-1, [1]], [0, [1]]), ['INVALID_REPLICA_ASSIGNMENT']],
      ['one twice', byHand([0, [1]], [0, [1]]), ['INVALID_REPLICA_ASSIGNMENT']],
      ['another broker', byHand([0, [9]]), ['INVALID_REPLICA_ASSIGNMENT']],
      ['no broker', byHand([0, []]), ['INVALID_REPLICA_ASSIGNMENT']],
      ['an unknown key', config(['nope', '1']), ['INVALID_CONFIG']],
      ['a wrong value', config(['retention.ms', 'x']), ['INVALID_CONFIG']],
      ['no value', config(['retention.ms', null]), ['INVALID_CONFIG']],
      ['a key twice', config(['retention.ms', '1'], ['retention.ms', '2']), []],
      [
        'a wrong key, and no partitions',
        { ...config(['nope', '1']), numPartitions: 0 },
        ['INVALID_CONFIG'],
      ],
    ])('%s', async (_what, over, expected) => {
      expect(await create(over)).toEqual(expected);
    });

    it('one that is there, and one twice', async () => {
      expect(await create({ name: topic })).toEqual(['TOPIC_ALREADY_EXISTS']);
      expect(await create({ name: topic, numPartitions: 0 })).toEqual(['TOPIC_ALREADY_EXISTS']);
      expect(await create({}, true)).toEqual(['INVALID_REQUEST']);
    });
  });

  it('of more partitions', async () => {
    const extend = (over: object, validateOnly = true) =>
      codes(CreatePartitions, 3, {
        topics: [{ name: topic, count: 3, assignments: null, ...over }],
        timeoutMs: 10_000,
        validateOnly,
      });
    expect(await extend({})).toEqual([]);
    expect(await extend({ count: 2 })).toEqual(['INVALID_PARTITIONS']);
    expect(await extend({ count: -1 })).toEqual(['INVALID_PARTITIONS']);
    expect(await extend({ count: 2_147_483_647 })).toEqual(['POLICY_VIOLATION']);
    expect(await extend({ name: 'no-such' })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
    const assigned = (...ids: number[][]) =>
      extend({ assignments: ids.map((brokerIds) => ({ brokerIds })) });
    expect(await assigned([1])).toEqual([]);
    for (const wrong of [[[9]], [[]], [[1, 1]], [[1], [1]]]) {
      expect(await assigned(...wrong)).toEqual(['INVALID_REPLICA_ASSIGNMENT']);
    }
  });

  it('of configurations', async () => {
    const resource = { resourceType: TOPIC, resourceName: topic };
    const describeOne = (over: object) =>
      codes(DescribeConfigs, 4, { resources: [{ ...resource, configurationKeys: null, ...over }] });
    expect(await describeOne({ resourceName: 'no-such' })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
    expect(await describeOne({ resourceName: '' })).toEqual(['INVALID_TOPIC_EXCEPTION']);
    expect(await describeOne({ resourceType: 77 })).toEqual(['INVALID_REQUEST']);
    expect(await describeOne({ resourceType: BROKER, resourceName: '9' })).toEqual([
      'INVALID_REQUEST',
    ]);

    const replace = (configs: object[], over: object = {}) =>
      codes(AlterConfigs, 2, {
        resources: [{ ...resource, configs, ...over }],
        validateOnly: true,
      });
    expect(await replace([{ name: 'retention.ms', value: '5' }])).toEqual([]);
    expect(await replace([{ name: 'retention.ms', value: null }])).toEqual(['INVALID_REQUEST']);
    expect(await replace([{ name: 'nope', value: '5' }])).toEqual(['INVALID_CONFIG']);
    expect(await replace([], { resourceName: '' })).toEqual(['INVALID_REQUEST']);
    expect(await replace([], { resourceType: 77 })).toEqual(['INVALID_REQUEST']);

    const change = (name: string, configOperation: number, value: string | null, over = {}) =>
      codes(IncrementalAlterConfigs, 1, {
        resources: [{ ...resource, configs: [{ name, configOperation, value }], ...over }],
        validateOnly: true,
      });
    expect(await change('nope', DELETE, null)).toEqual([]);
    expect(await change('nope', SET, '1')).toEqual(['INVALID_CONFIG']);
    expect(await change('retention.ms', APPEND, '1')).toEqual(['INVALID_CONFIG']);
    expect(await change('cleanup.policy', APPEND, 'nope')).toEqual(['INVALID_CONFIG']);
    expect(await change('cleanup.policy', APPEND, null)).toEqual(['INVALID_REQUEST']);
    expect(await change('x', DELETE, null, { resourceName: '' })).toEqual(['INVALID_REQUEST']);
  });

  it('and values of configurations that are not asked for by name', async () => {
    const { results } = await client.send(DescribeConfigs, 4, {
      resources: [{ resourceType: TOPIC, resourceName: topic, configurationKeys: [] }],
      includeSynonyms: true,
    });
    const synonyms = new Map(
      results[0]?.configs.map((config) => [config.name, config.synonyms.map(({ name }) => name)]),
    );
    expect(synonyms.get('retention.bytes')).toEqual(['log.retention.bytes']);
    for (const name of ['retention.ms', 'segment.ms', 'segment.jitter.ms', 'flush.ms']) {
      expect(synonyms.get(name), name).toEqual([]);
    }
  });

  it('of deleted records and topics', async () => {
    const purge = (offset: bigint, over: object = {}) =>
      codes(DeleteRecords, 2, {
        timeoutMs: 10_000,
        topics: [{ name: topic, partitions: [{ partitionIndex: 0, offset, ...over }] }],
      });
    expect(await purge(99n)).toEqual(['OFFSET_OUT_OF_RANGE']);
    expect(await purge(-2n)).toEqual(['OFFSET_OUT_OF_RANGE']);
    expect(await purge(0n, { partitionIndex: 9 })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
    const drop = (...topics: object[]) => codes(DeleteTopics, 6, { topics, timeoutMs: 10_000 });
    expect(await drop({ name: 'no-such' })).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
    expect(await drop({ name: null, topicId: NOWHERE })).toEqual(['UNKNOWN_TOPIC_ID']);
    expect(await drop({ name: topic, topicId })).toEqual(['INVALID_REQUEST']);
    expect(await drop({ name: null })).toEqual(['INVALID_REQUEST']);
    expect(await drop({ name: topic }, { name: topic })).toEqual(['INVALID_REQUEST']);
  });

  it('of synchronising without the protocol that version 5 asks for (KIP-559)', async () => {
    const group = unique('codes-group');
    for (let i = 0; i < 100; i++) {
      const { errorCode } = await client.send(FindCoordinator, 3, { key: group, keyType: 0 });
      if (errorCode === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const sync = (version: number, over: object = {}) =>
      codes(SyncGroup, version, { groupId: group, generationId: 1, memberId: 'nobody', ...over });
    const unknown: ErrorName[] = ['UNKNOWN_MEMBER_ID'];
    for (let i = 0; i < 100 && (await sync(4)).join() !== unknown.join(); i++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await sync(4)).toEqual(unknown);
    expect(await sync(5, { protocolType: 'consumer', protocolName: 'range' })).toEqual(unknown);
    expect(await sync(5)).toEqual(['INCONSISTENT_GROUP_PROTOCOL']);
    expect(await sync(5, { protocolType: 'consumer' })).toEqual(['INCONSISTENT_GROUP_PROTOCOL']);
  });

  it('of descriptions', async () => {
    const cluster = (endpointType: number) => codes(DescribeCluster, 1, { endpointType });
    expect(await cluster(1)).toEqual([]);
    expect(await cluster(2)).toEqual(['MISMATCHED_ENDPOINT_TYPE']);
    expect(await cluster(7)).toEqual(['UNSUPPORTED_ENDPOINT_TYPE']);
    const page = (cursor: { topicName: string; partitionIndex: number } | null) =>
      codes(DescribeTopicPartitions, 0, { topics: [{ name: topic }], cursor });
    expect(await page(null)).toEqual([]);
    expect(await page({ topicName: topic, partitionIndex: 1 })).toEqual([]);
    expect(await page({ topicName: topic, partitionIndex: -1 })).toEqual(['INVALID_REQUEST']);
    expect(await page({ topicName: 'zzz', partitionIndex: 0 })).toEqual(['INVALID_REQUEST']);
  });
});
