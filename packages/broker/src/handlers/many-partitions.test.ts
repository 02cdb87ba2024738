import {
  CreateTopics,
  DescribeConfigs,
  errorCodes,
  ListOffsets,
  Metadata,
  Produce,
  WriteTxnMarkers,
} from '@millrace/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { EmbeddedBroker } from '../embedded-broker.ts';
import { startBroker } from '../start-broker.ts';
import { batchOf, TestClient } from '../testing-support/test-client.ts';

const PARTITIONS = 500;
const NAME = 'wide';
const indexes = Array.from({ length: PARTITIONS }, (_, index) => index);

let broker: EmbeddedBroker;
let client: TestClient;
let other: TestClient;

beforeAll(async () => {
  broker = await startBroker({ inProcess: true });
  [client, other] = await Promise.all([TestClient.connect(broker), TestClient.connect(broker)]);
  await client.send(CreateTopics, 7, {
    topics: [{ name: NAME, numPartitions: PARTITIONS, replicationFactor: 1 }],
  });
});

afterAll(async () => {
  await client.close();
  await other.close();
  await broker.close();
});

/** Resolves with the answer and with whether another client was served before it. */
async function besides<T>(answer: Promise<T>): Promise<{ answer: T; isOtherFirst: boolean }> {
  const first = await Promise.race([
    answer.then(() => 'this'),
    other.send(Metadata, 9, { topics: [] }).then(() => 'other'),
  ]);
  return { answer: await answer, isOtherFirst: first === 'other' };
}

it('a request for many partitions is answered in their order, and others have their turns meanwhile', async () => {
  const records = batchOf({ values: ['a'] });
  const produced = await besides(
    client.send(Produce, 9, {
      acks: -1,
      topicData: [
        {
          name: NAME,
          partitionData: [...indexes, PARTITIONS].map((index) => ({ index, records })),
        },
      ],
    }),
  );
  expect(produced.isOtherFirst).toBe(true);
  const answers = produced.answer.responses[0]!.partitionResponses;
  expect(answers.map(({ index }) => index)).toEqual([...indexes, PARTITIONS]);
  expect(answers.filter(({ errorCode }) => errorCode !== 0)).toMatchObject([
    { index: PARTITIONS, errorCode: errorCodes.UNKNOWN_TOPIC_OR_PARTITION },
  ]);

  const listed = await besides(
    client.send(ListOffsets, 8, {
      replicaId: -1,
      topics: [
        {
          name: NAME,
          partitions: indexes.map((partitionIndex) => ({ partitionIndex, timestamp: 0n })),
        },
      ],
    }),
  );
  expect(listed.isOtherFirst).toBe(true);
  expect(listed.answer.topics[0]!.partitions.map(({ offset }) => offset)).toEqual(
    indexes.map(() => 0n),
  );

  const marked = await besides(
    client.send(WriteTxnMarkers, 1, {
      markers: [
        {
          producerId: 4_000n,
          producerEpoch: 0,
          coordinatorEpoch: 0,
          transactionResult: false,
          topics: [{ name: NAME, partitionIndexes: indexes }],
        },
      ],
    }),
  );
  expect(marked.isOtherFirst).toBe(true);
  expect(marked.answer.markers[0]!.topics[0]!.partitions).toEqual(
    indexes.map((partitionIndex) => ({ partitionIndex, errorCode: 0 })),
  );
});

it('what is asked of one thing in many pieces is looked up once', async () => {
  const keys = Array.from({ length: 2_000 }, (_, at) => [`no-such-${at}`, 'retention.ms']);
  const { results } = await client.send(DescribeConfigs, 4, {
    resources: keys.map((configurationKeys) => ({
      resourceType: 2,
      resourceName: NAME,
      configurationKeys,
    })),
  });
  expect(results).toHaveLength(keys.length);
  expect(results.every(({ configs }) => configs.length === 1)).toBe(true);
});
