/** A running broker's log cleaner, and its settings, which change while it runs (KIP-226). */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BatchBuilder,
  BatchIterator,
  CreateTopics,
  DescribeConfigs,
  errorCodes,
  Fetch,
  IncrementalAlterConfigs,
  Metadata,
  Produce,
  RecordCursor,
} from '@millrace/protocol';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { RawClient } from '../support/raw-client.ts';

const BROKER = 4;
const TOPIC = 2;
const SET = 0;
const DELETE = 1;
const DYNAMIC_BROKER = 2;
const DYNAMIC_DEFAULT_BROKER = 3;
const WITHIN_MS = 10_000;
const SEGMENT_MS = 1_000;

describeOnBothBrokers('the log cleaner', (broker) => {
  let client: RawClient;
  let nodeId: string;
  beforeAll(async () => {
    client = await RawClient.connect(broker().bootstrapServers);
    const { brokers } = await client.send(Metadata, 12, { topics: [] });
    nodeId = String(brokers[0]?.nodeId);
  });
  afterAll(() => client.close());

  async function alter(
    resourceType: number,
    resourceName: string,
    values: Record<string, string | null>,
  ) {
    const { responses } = await client.send(IncrementalAlterConfigs, 1, {
      resources: [
        {
          resourceType,
          resourceName,
          configs: Object.entries(values).map(([name, value]) => ({
            name,
            value,
            configOperation: value === null ? DELETE : SET,
          })),
        },
      ],
      validateOnly: false,
    });
    const answer = responses[0];
    if (answer === undefined) throw new Error('no answer');
    return answer;
  }

  async function describe(resourceName: string, name: string) {
    const { results } = await client.send(DescribeConfigs, 4, {
      includeSynonyms: true,
      resources: [{ resourceType: BROKER, resourceName, configurationKeys: [name] }],
    });
    expect(results[0]?.errorCode).toBe(errorCodes.NONE);
    return results[0]?.configs[0];
  }

  /** A record whose time lies so far behind the last that it begins a segment. */
  async function produce(topic: string, key: string, value: string | null, timestamp: number) {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
    builder.appendBytes(
      timestamp,
      Buffer.from(key),
      value === null ? null : Buffer.from(value),
      null,
    );
    const records = Buffer.from(builder.build({}));
    const send = async (): Promise<number | undefined> => {
      const { responses } = await client.send(Produce, 9, {
        transactionalId: null,
        acks: -1,
        timeoutMs: 10_000,
        topicData: [{ name: topic, partitionData: [{ index: 0, records }] }],
      });
      return responses[0]?.partitionResponses[0]?.errorCode;
    };
    // A node of Kafka's learns of a new topic a little after the answer.
    await expect.poll(send, { timeout: WITHIN_MS, interval: 50 }).toBe(errorCodes.NONE);
  }

  async function read(topic: string): Promise<string[]> {
    const seen: string[] = [];
    const cursor = new RecordCursor();
    let fetchOffset = 0n;
    for (;;) {
      const { responses } = await client.send(Fetch, 11, {
        maxWaitMs: 0,
        minBytes: 1,
        topics: [
          { topic, partitions: [{ partition: 0, fetchOffset, partitionMaxBytes: 1 << 20 }] },
        ],
      });
      const records = responses[0]?.partitions[0]?.records ?? Buffer.alloc(0);
      const batches = new BatchIterator(records);
      let next = fetchOffset;
      for (let batch = batches.next(); batch; batch = batches.next()) {
        next = batch.nextOffset;
        cursor.open(batch);
        while (cursor.next()) {
          const offset = batch.baseOffset + BigInt(cursor.offsetDelta);
          seen.push(`${String(offset)} ${String(cursor.key())}=${String(cursor.value())}`);
        }
      }
      if (next === fetchOffset) return seen;
      fetchOffset = next;
    }
  }

  it('keeps the last value of each key, and offsets as they were', async () => {
    expect(await alter(BROKER, '', { 'log.cleaner.backoff.ms': '100' })).toMatchObject({
      errorCode: errorCodes.NONE,
    });
    const topic = unique('compacted');
    const { topics } = await client.send(CreateTopics, 7, {
      topics: [
        {
          name: topic,
          numPartitions: 1,
          replicationFactor: 1,
          configs: Object.entries({
            'cleanup.policy': 'compact',
            'min.cleanable.dirty.ratio': '0.01',
            'segment.ms': String(SEGMENT_MS),
          }).map(([name, value]) => ({ name, value })),
        },
      ],
      timeoutMs: 10_000,
    });
    expect(topics[0]?.errorCode).toBe(errorCodes.NONE);
    let time = Date.now() - 1_000_000;
    const next = (): number => (time += SEGMENT_MS + 1);
    for (let value = 0; value < 5; value++) {
      for (const key of ['a', 'b']) await produce(topic, key, `${key}${String(value)}`, next());
    }
    await produce(topic, 'c', 'active', next());
    const expected = ['8 a=a4', '9 b=b4', '10 c=active'];
    const deadline = performance.now() + WITHIN_MS;
    let seen = await read(topic);
    while (seen.length > expected.length && performance.now() < deadline) {
      await sleep(100);
      seen = await read(topic);
    }
    expect(seen).toEqual(expected);

    // Held back from then on.
    expect(await alter(TOPIC, topic, { 'min.compaction.lag.ms': '86400000' })).toMatchObject({
      errorCode: errorCodes.NONE,
    });
    for (const value of ['a5', 'a6']) await produce(topic, 'a', value, Date.now());
    await sleep(1_000);
    expect(await read(topic)).toEqual([...expected, '11 a=a5', '12 a=a6']);
  });

  it('takes settings for one node before those for all', async () => {
    const name = 'log.cleaner.io.max.bytes.per.second';
    try {
      expect(await alter(BROKER, '', { [name]: '100000000' })).toMatchObject({ errorCode: 0 });
      await expect
        .poll(() => describe(nodeId, name), { timeout: WITHIN_MS })
        .toMatchObject({ configSource: DYNAMIC_DEFAULT_BROKER, readOnly: false });
      expect(await describe('', name)).toMatchObject({ configSource: DYNAMIC_DEFAULT_BROKER });
      expect(await alter(BROKER, nodeId, { [name]: '200000000' })).toMatchObject({ errorCode: 0 });
      await expect
        .poll(() => describe(nodeId, name), { timeout: WITHIN_MS })
        .toMatchObject({ configSource: DYNAMIC_BROKER });
      // Kafka shows the number as Java writes it.
      expect(Number((await describe(nodeId, name))?.value)).toBe(200_000_000);
      expect((await describe(nodeId, name))?.synonyms.map(({ source }) => source)).toEqual([
        DYNAMIC_BROKER,
        DYNAMIC_DEFAULT_BROKER,
        5,
      ]);
    } finally {
      await alter(BROKER, nodeId, { [name]: null });
      await alter(BROKER, '', { [name]: null });
    }
  });

  it.each([
    ['log.cleaner.threads', '9'],
    ['log.cleaner.threads', '0'],
    ['log.cleaner.threads', 'many'],
    ['log.cleaner.min.cleanable.ratio', '1.5'],
    ['log.cleaner.min.compaction.lag.ms', '-1'],
    ['log.cleaner.enable', 'false'],
    ['num.partitions', '3'],
  ])('refuses %s=%s as INVALID_REQUEST', async (name, value) => {
    const answer = await alter(BROKER, nodeId, { [name]: value });
    expect(answer.errorCode, String(answer.errorMessage)).toBe(errorCodes.INVALID_REQUEST);
    expect(answer.errorMessage).not.toBe('');
  });
});
