/**
 * Every API in every version that ApiVersions shows, with requests that fill the answers: a field that
 * a version cannot carry would close the connection.
 */
import {
  apis,
  ApiVersions,
  errorByCode,
  type Api,
  type ApiVersionsResponse,
} from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EmbeddedBroker } from '../embedded-broker.ts';
import { startBroker } from '../start-broker.ts';
import { batchOf, TestClient } from '../testing-support/test-client.ts';

let broker: EmbeddedBroker;
let client: TestClient;
let served: ApiVersionsResponse['apiKeys'];

beforeAll(async () => {
  broker = await startBroker({ inProcess: true, config: { 'offsets.topic.num.partitions': 1 } });
  client = await TestClient.connect(broker);
  served = (
    await client.send(ApiVersions, 4, { clientSoftwareName: 'a', clientSoftwareVersion: '1' })
  ).apiKeys;
});

afterAll(async () => {
  await client.close();
  await broker.close();
});

const name = 'swept';
const records = (): Buffer => batchOf({ values: ['a', 'b'] });
const missing = 'not-there';

/** By API key, what to send; the version decides between names and ids where both exist. */
const bodies: Record<number, (version: number, topicId: string) => object[]> = {
  0: (version, topicId) =>
    [name, missing].map((topic) => ({
      acks: -1,
      timeoutMs: 1000,
      topicData: [
        {
          ...(version < 13 ? { name: topic } : { topicId }),
          partitionData: [
            { index: 0, records: records() },
            { index: 0, records: Buffer.alloc(100) },
            { index: 9, records: records() },
          ],
        },
      ],
    })),
  1: (version, topicId) =>
    [0, 1].map((isolationLevel) => ({
      maxWaitMs: 10,
      minBytes: 1,
      isolationLevel,
      topics: [0n, 1n, 999n].map((fetchOffset) => ({
        ...(version < 13 ? { topic: name } : { topicId }),
        partitions: [
          {
            partition: 0,
            fetchOffset,
            partitionMaxBytes: 1000,
            ...(version < 12 ? {} : { lastFetchedEpoch: 0 }),
          },
          { partition: 7, fetchOffset, partitionMaxBytes: 1000 },
        ],
      })),
    })),
  2: () => [
    {
      replicaId: -1,
      topics: [-1n, -2n, -3n, 0n, 99_999_999_999_999n].map((timestamp) => ({
        name,
        partitions: [
          { partitionIndex: 0, timestamp },
          { partitionIndex: 9, timestamp },
        ],
      })),
    },
    { replicaId: -1, topics: [{ name, partitions: [{ partitionIndex: 0, timestamp: -1n }] }] },
  ],
  3: (version) => [
    ...(version === 0 ? [] : [{ topics: null }]),
    {
      topics: [{ name }, { name: missing }, { name: 'not legal' }],
      ...(version < 4 ? {} : { allowAutoTopicCreation: false }),
    },
    ...(version < 12 ? [] : [{ topics: [{ name: null, topicId: 'AAAAAAAAAAAAAAAAAAAAAg' }] }]),
    ...(version < 8 ? [] : [{ topics: [{ name }], includeTopicAuthorizedOperations: true }]),
  ],
  19: (version) => [
    {
      topics: [
        { name: `swept-${version}`, numPartitions: 1, replicationFactor: 1 },
        { name, numPartitions: 1, replicationFactor: 1 },
      ],
    },
  ],
  20: (version, topicId) => [
    version < 6
      ? { topicNames: [`swept-${version}`, missing], timeoutMs: 100 }
      : { topics: [{ name: missing }, { name, topicId }, {}], timeoutMs: 100 },
  ],
  21: () => [
    {
      timeoutMs: 1000,
      topics: [
        {
          name,
          partitions: [
            { partitionIndex: 0, offset: 0n },
            { partitionIndex: 5, offset: 0n },
          ],
        },
      ],
    },
  ],
  22: () => [
    { transactionalId: null },
    { transactionalId: 'tx', transactionTimeoutMs: 1000 },
    { transactionalId: '' },
  ],
  23: () => [
    { topics: [{ topic: name, partitions: [{ partition: 0, leaderEpoch: 0 }, { partition: 4 }] }] },
  ],
  24: () => [
    { v3AndBelowTransactionalId: 'tx', v3AndBelowTopics: [{ name, partitions: [0, 9] }] },
    { v3AndBelowTransactionalId: 'tx', v3AndBelowTopics: [{ name, partitions: [0] }] },
  ],
  25: () => [{ transactionalId: 'tx', groupId: 'g' }],
  26: () => [{ transactionalId: 'tx' }, { transactionalId: 'tx', committed: true }],
  27: () => [
    {
      markers: [
        { producerId: 4n, topics: [{ name, partitionIndexes: [0, 9] }], coordinatorEpoch: 0 },
      ],
    },
  ],
  28: () => [
    {
      transactionalId: 'tx',
      groupId: 'g',
      topics: [
        {
          name,
          partitions: [
            { partitionIndex: 0, committedOffset: 1n, committedMetadata: null },
            { partitionIndex: 9, committedOffset: 1n, committedMetadata: 'x' },
          ],
        },
      ],
    },
  ],
  32: (version) => [
    {
      resources: [
        { resourceType: 2, resourceName: name, configurationKeys: null },
        { resourceType: 4, resourceName: '1', configurationKeys: null },
        { resourceType: 2, resourceName: missing, configurationKeys: null },
      ],
      includeSynonyms: true,
      ...(version < 3 ? {} : { includeDocumentation: true }),
    },
  ],
  33: () => [
    {
      resources: [
        { resourceType: 2, resourceName: name, configs: [] },
        { resourceType: 2, resourceName: missing, configs: [] },
      ],
    },
  ],
  37: () => [
    {
      topics: [
        { name, count: 1, assignments: null },
        { name: missing, count: 2, assignments: null },
      ],
    },
  ],
  44: () => [
    {
      resources: [
        { resourceType: 2, resourceName: name, configs: [{ name: 'retention.ms', value: 'x' }] },
      ],
    },
  ],
  60: (version) => [
    { includeClusterAuthorizedOperations: true },
    ...(version < 1 ? [] : [{ endpointType: 2 }]),
  ],
  61: () => [{ topics: [{ name, partitionIndexes: [0, 9] }] }],
  65: () => [{ transactionalIds: ['tx', missing, ''] }],
  66: (version) => [
    { stateFilters: ['Ongoing', 'x'], ...(version < 1 ? {} : { durationFilter: 1n }) },
  ],
  75: () => [{ topics: [{ name }, { name: missing }] }],
};

function codesOf(answer: unknown): number[] {
  const codes: number[] = [];
  JSON.stringify(answer, (key, value: unknown) => {
    if (/errorCode$/i.test(key) && typeof value === 'number') codes.push(value);
    return typeof value === 'bigint' ? String(value) : value;
  });
  return codes;
}

describe('every API', () => {
  it('has a schema and a range within it', () => {
    expect(served.length).toBeGreaterThanOrEqual(37);
    for (const { apiKey, maxVersion } of served) {
      const api = apis.get(apiKey);
      expect(api, String(apiKey)).toBeDefined();
      expect(maxVersion).toBeLessThanOrEqual(api!.maxVersion);
    }
  });

  it('answers in each of its versions, without a fault of ours', async () => {
    const created = await client.send(
      apis.get(19) as Api<object, { topics: { topicId: string }[] }>,
      7,
      {
        topics: [{ name, numPartitions: 1, replicationFactor: 1 }],
      },
    );
    const { topicId } = created.topics[0]!;
    let count = 0;
    for (const { apiKey, minVersion, maxVersion } of served) {
      const api = apis.get(apiKey) as Api<object, unknown>;
      for (let version = Math.max(minVersion, api.minVersion); version <= maxVersion; version++) {
        for (const body of bodies[apiKey]?.(version, topicId) ?? [{}]) {
          const what = `${api.name} v${version}`;
          const answer = await client.send(api, version, body).catch((error: unknown) => {
            throw new Error(`${what}: ${(error as Error).message}`);
          });
          count++;
          for (const code of codesOf(answer)) {
            expect(errorByCode(code).name, what).not.toBe('UNKNOWN_SERVER_ERROR');
          }
        }
      }
    }
    expect(count).toBeGreaterThan(150);
  });
});
