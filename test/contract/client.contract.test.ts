/** The runtime's client (fetcher, producer, group member, admin) against a broker's own words. */
import { BatchIterator, RecordCursor, RecordHeaders } from '@millrace/protocol';
import { connect, silentLogger, type StreamsClient } from '@millrace/runtime';
import { Kafka, logLevel } from 'kafkajs';
import { afterEach, expect, it } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';

type Fetcher = ReturnType<StreamsClient['fetcher']>;
type Producer = ReturnType<StreamsClient['producer']>;
type Group = ReturnType<StreamsClient['group']>;
type Buffered = ReturnType<Producer['partition']>;
type Codec = Parameters<StreamsClient['producer']>[0]['compression'];
type GroupSettings = Parameters<StreamsClient['group']>[0];

const bytes = {
  name: 'bytes',
  serialize: (value: Buffer) => value,
  deserialize: (value: Uint8Array) => Buffer.from(value),
  write: (value: Buffer, target: Buffer, position: number) => {
    if (position + value.length > target.length) return -1;
    return position + value.copy(target, position);
  },
  read: (source: Buffer, start: number, end: number) => source.subarray(start, end),
};

interface SeenRecord {
  readonly offset: bigint;
  readonly timestamp: number;
  readonly value: string | null;
  readonly headers: readonly [string, string | null][];
}

describeOnBothBrokers('the client', (broker) => {
  const opened: StreamsClient[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((client) => client.close(5_000)));
  });

  function open(): StreamsClient {
    const config = { 'bootstrap.servers': broker().bootstrapServers };
    const client = connect(config, { logger: silentLogger() });
    opened.push(client);
    return client;
  }

  async function topicWith(
    client: StreamsClient,
    partitionCount: number,
    config: Record<string, string> = {},
  ): Promise<string> {
    const topic = unique('client');
    const entries = new Map(Object.entries({ 'retention.ms': '-1', ...config }));
    await client
      .admin()
      .createTopics([{ topic, partitionCount, replicationFactor: -1, config: entries }]);
    return topic;
  }

  function producerOf(client: StreamsClient, compression: Codec = 'none'): Producer {
    return client.producer({
      lingerMs: 5,
      batchBytes: 16_384,
      bufferBytes: 16 << 20,
      requestTimeoutMs: 10_000,
      deliveryTimeoutMs: 30_000,
      compression,
      onDrained: () => undefined,
    });
  }

  function append(
    buffer: Buffered,
    value: string | null,
    timestamp = 1_000,
    headers?: RecordHeaders,
  ): void {
    const key = Buffer.from('key');
    const encoded = value === null ? null : Buffer.from(value);
    buffer.append(timestamp, key, 0, key.length, encoded, bytes, headers ?? null);
  }

  interface Reading {
    readonly fetcher: Fetcher;
    /** What has been drained, by `<topic>-<partition>`. */
    readonly seen: Map<string, SeenRecord[]>;
    readonly errors: Error[];
    until(isDone: () => boolean): Promise<void>;
  }

  function read(client: StreamsClient, options: { maxPartitionBytes?: number } = {}): Reading {
    let ready = (): void => undefined;
    const fetcher = client.fetcher({
      isolationLevel: 'read_committed',
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: 50 << 20,
      maxPartitionBytes: options.maxPartitionBytes ?? 1 << 20,
      onReady: () => {
        ready();
      },
    });
    const seen = new Map<string, SeenRecord[]>();
    const errors: Error[] = [];
    const cursor = new RecordCursor();
    const drain = (): void => {
      for (const { topic, partition, records, error } of fetcher.drain()) {
        if (error !== null) errors.push(error);
        const key = `${topic}-${String(partition)}`;
        const found = seen.get(key) ?? [];
        seen.set(key, found);
        const batches = new BatchIterator(records);
        for (let batch = batches.next(); batch !== null; batch = batches.next()) {
          batch.ensureValid();
          cursor.open(batch);
          while (cursor.next()) {
            found.push({
              offset: cursor.offset(),
              timestamp: cursor.timestamp,
              value: cursor.value()?.toString() ?? null,
              headers: [...cursor.headers()].map(({ key: name, value }) => [
                name,
                value?.toString() ?? null,
              ]),
            });
          }
        }
      }
    };
    const until = async (isDone: () => boolean): Promise<void> => {
      for (;;) {
        const woken = new Promise<void>((resolve) => (ready = resolve));
        drain();
        if (isDone()) return;
        await woken;
      }
    };
    return { fetcher, seen, errors, until };
  }

  it('creates topics once, describes those that exist, and their configs', async () => {
    const client = open();
    const topic = await topicWith(client, 3, { 'cleanup.policy': 'compact' });
    const again = { topic, partitionCount: 3, replicationFactor: 1, config: new Map() };
    await client.admin().createTopics([again]);
    const described = await client.admin().describeTopics([topic, unique('missing')]);
    const topicId: unknown = expect.stringMatching(/^[\w-]{22}$/);
    expect([...described.values()]).toEqual([{ topic, partitionCount: 3, topicId }]);
    const configs = await client.admin().describeTopicConfigs(topic);
    expect(configs.get('cleanup.policy')).toBe('compact');
    const wrong = {
      topic: 'no/such name',
      partitionCount: 1,
      replicationFactor: 1,
      config: new Map(),
    };
    await expect(client.admin().createTopics([wrong])).rejects.toThrow(
      /no\/such name.*INVALID_TOPIC/,
    );
    const odd = { topic: unique('odd'), partitionCount: 1, replicationFactor: 1 };
    await expect(
      client.admin().createTopics([{ ...odd, config: new Map([['no.such.config', '1']]) }]),
    ).rejects.toThrow(/INVALID_CONFIG/);
    await expect(client.admin().describeTopicConfigs(unique('missing'))).rejects.toThrow(
      /does not exist/,
    );
  });

  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const)(
    'writes and reads records with %s',
    async (compression) => {
      const client = open();
      const topic = await topicWith(client, 2);
      const producer = producerOf(client, compression);
      expect(await producer.partitionCount(topic)).toBe(2);
      const buffer = producer.partition(topic, 1);
      for (let i = 0; i < 2_000; i++) append(buffer, `value-${String(i)}`, 1_000 + i);
      append(buffer, null, 5_000);
      const headers = new RecordHeaders().add('b', '1').add('2', 'x').add('1', null).add('b', '3');
      append(buffer, '', 5_001, headers);
      await producer.flush();
      expect(buffer.ackedEndOffset).toBe(2_002n);
      const { fetcher, seen, until } = read(client);
      fetcher.assign([{ topic, partition: 1, offset: 0n }]);
      const key = `${topic}-1`;
      await until(() => (seen.get(key)?.length ?? 0) >= 2_002);
      const records = seen.get(key) ?? [];
      expect(records.slice(0, 2_000).every(({ value }, i) => value === `value-${String(i)}`)).toBe(
        true,
      );
      expect(records.every(({ offset }, i) => offset === BigInt(i))).toBe(true);
      expect(records[1_999]?.timestamp).toBe(2_999);
      expect(records[2_000]?.value).toBeNull();
      expect(records[2_001]).toMatchObject({
        value: '',
        headers: [
          ['b', '1'],
          ['2', 'x'],
          ['1', null],
          ['b', '3'],
        ],
      });
      expect(fetcher.position(topic, 1)).toBe(2_002n);
    },
  );

  it('finds offsets by end, beginning and timestamp, and moves the beginning by deleting records', async () => {
    const client = open();
    const topic = await topicWith(client, 2);
    const producer = producerOf(client);
    for (let i = 0; i < 10; i++) append(producer.partition(topic, 0), 'x', 1_000 + i * 10);
    await producer.flush();
    const { fetcher, errors, until } = read(client);
    const both = [0, 1].map((partition) => ({ topic, partition }));
    const ends = await fetcher.endOffsets(both, 'read_committed');
    expect([ends.get(`${topic}-0`), ends.get(`${topic}-1`)]).toEqual([10n, 0n]);
    const at = (timestampMs: number) =>
      fetcher.offsetsForTimestamps([{ topic, partition: 0, timestampMs }]);
    expect((await at(1_025)).get(`${topic}-0`)).toBe(3n);
    expect((await at(5_000)).size).toBe(0);
    const deleted = await client.admin().deleteRecords([
      { topic, partition: 0, offset: 4n },
      { topic, partition: 1, offset: 99n },
      { topic: unique('missing'), partition: 0, offset: 1n },
    ]);
    const results = [...deleted.values()];
    expect(deleted.get(`${topic}-0`)).toBe(4n);
    expect((deleted.get(`${topic}-1`) as Error).message).toContain('OFFSET_OUT_OF_RANGE');
    expect(results.filter((each) => each instanceof Error)).toHaveLength(2);
    expect((await fetcher.beginningOffsets(both)).get(`${topic}-0`)).toBe(4n);
    fetcher.assign([{ topic, partition: 0, offset: 1n }]);
    await until(() => errors.length > 0);
    expect(errors[0]?.name).toBe('OffsetOutOfRangeError');
    expect(errors[0]?.message).toContain(`${topic}-0`);
  });

  it('reads a batch that is larger than its limits, and every partition when bytes are scarce', async () => {
    const client = open();
    const topic = await topicWith(client, 3);
    const producer = producerOf(client);
    for (const partition of [0, 1, 2]) {
      for (let i = 0; i < 20; i++) append(producer.partition(topic, partition), 'x'.repeat(5_000));
    }
    await producer.flush();
    const { fetcher, seen, until } = read(client, { maxPartitionBytes: 100 });
    fetcher.assign([0, 1, 2].map((partition) => ({ topic, partition, offset: 0n })));
    await until(() => [0, 1, 2].every((p) => seen.get(`${topic}-${String(p)}`)?.length === 20));
  });

  it('155: does not let a new or resumed partition wait for a parked fetch (kafkajs#1599)', async () => {
    const client = open();
    const topic = await topicWith(client, 3);
    const producer = producerOf(client);
    for (const partition of [1, 2]) append(producer.partition(topic, partition), 'x');
    await producer.flush();
    const { fetcher, seen, until } = read(client);
    fetcher.assign([{ topic, partition: 0, offset: 0n }]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const before = performance.now();
    fetcher.assign([{ topic, partition: 1, offset: 0n }]);
    await until(() => seen.has(`${topic}-1`));
    expect(performance.now() - before).toBeLessThan(150);
    fetcher.assign([{ topic, partition: 2, offset: 0n }]);
    fetcher.pause(topic, 2);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(seen.has(`${topic}-2`)).toBe(false);
    const paused = performance.now();
    fetcher.resume(topic, 2);
    await until(() => seen.has(`${topic}-2`));
    expect(performance.now() - paused).toBeLessThan(150);
  });

  it('85: is served through a Kafka of the user, and many sends of one record keep their order (kafkajs#598)', async () => {
    const kafka = new Kafka({
      brokers: [broker().bootstrapServers],
      clientId: 'mine',
      logLevel: logLevel.NOTHING,
    });
    const client = connect({}, { kafka, logger: silentLogger() });
    opened.push(client);
    const topic = await topicWith(client, 1);
    const producer = client.producer({
      lingerMs: 0,
      batchBytes: 1,
      bufferBytes: 1 << 20,
      requestTimeoutMs: 10_000,
      deliveryTimeoutMs: 30_000,
      compression: 'none',
      onDrained: () => undefined,
    });
    for (let i = 0; i < 200; i++) append(producer.partition(topic, 0), String(i));
    await producer.flush();
    const { fetcher, seen, until } = read(client);
    fetcher.assign([{ topic, partition: 0, offset: 0n }]);
    await until(() => seen.get(`${topic}-0`)?.length === 200);
    const values = seen.get(`${topic}-0`)?.map(({ value }) => Number(value));
    expect(values).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  it('names what is wrong with a record or a topic', async () => {
    const client = open();
    const topic = await topicWith(client, 1, { 'max.message.bytes': '2000' });
    const producer = producerOf(client);
    append(producer.partition(topic, 0), 'x'.repeat(3_000));
    await expect(producer.flush()).rejects.toThrow(
      new RegExp(`records for ${topic}-0 were refused.*max\\.message\\.bytes`),
    );
    append(producer.partition(topic, 0), 'small');
    await producer.flush();
    expect(producer.partition(topic, 0).ackedEndOffset).toBe(1n);
    expect(() => {
      append(producer.partition(topic, 0), 'x'.repeat(2 << 20));
    }).toThrow(/max\.request\.size/);
  });

  // ------------------------------------------------------------------------------------- groups

  interface Member {
    readonly group: Group;
    readonly events: string[];
    assigned: readonly number[] | null;
    fatal: Error | null;
  }

  function join(client: StreamsClient, topic: string, settings: Partial<GroupSettings>): Member {
    const group = client.group({
      groupId: topic,
      groupInstanceId: null,
      sessionTimeoutMs: 6_000,
      heartbeatIntervalMs: 200,
      rebalanceTimeoutMs: 10_000,
      protocolName: 'contract',
      ...settings,
    });
    const member: Member = { group, events: [], assigned: null, fatal: null };
    group.join({
      subscription: () => ({ topics: [topic], userData: Buffer.from('user data') }),
      assign: async (members) => {
        expect(members.every(({ userData }) => userData.toString() === 'user data')).toBe(true);
        const all = [0, 1, 2, 3];
        return new Map(
          members.map(({ memberId }, i) => {
            const own = all.filter((partition) => partition % members.length === i);
            const partitions = own.map((partition) => ({ topic, partition }));
            return [memberId, { partitions, userData: Buffer.from(`for ${memberId}`) }];
          }),
        );
      },
      onRebalance: async () => {
        member.events.push('rebalance');
        member.assigned = null;
        await group.commit(
          new Map([[`${topic}-0`, { topic, partition: 0, offset: 42n, metadata: 'meta' }]]),
        );
      },
      onAssigned: async ({ partitions, userData }, { memberId }) => {
        expect(userData.toString()).toBe(`for ${memberId}`);
        member.events.push('assigned');
        member.assigned = partitions.map(({ partition }) => partition);
      },
      onLost: async () => {
        member.events.push('lost');
      },
      onFatal: (error) => {
        member.fatal = error;
      },
    });
    return member;
  }

  async function eventually(isDone: () => boolean): Promise<void> {
    const deadline = performance.now() + 15_000;
    while (!isDone()) {
      if (performance.now() > deadline) throw new Error('it does not come to pass');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  it('shares partitions among members, commits before each rebalance, and leaves', async () => {
    const first = open();
    const topic = await topicWith(first, 4);
    const one = join(first, topic, {});
    await eventually(() => one.assigned?.length === 4);
    const second = open();
    const two = join(second, topic, {});
    await eventually(() => one.assigned?.length === 2 && two.assigned?.length === 2);
    expect(one.events).toEqual(['assigned', 'rebalance', 'assigned']);
    const asked = [0, 1].map((partition) => ({ topic, partition }));
    const committed = await two.group.committed(asked, { requireStable: true });
    expect([...committed]).toEqual([[`${topic}-0`, { offset: 42n, metadata: 'meta' }]]);
    const large = { topic, partition: 1, offset: 9_007_199_254_740_994n, metadata: '' };
    await two.group.commit(new Map([[`${topic}-1`, large]]));
    const again = await one.group.committed(asked, { requireStable: false });
    expect(again.get(`${topic}-1`)?.offset).toBe(9_007_199_254_740_994n);
    const before = performance.now();
    await second.close(5_000);
    expect(performance.now() - before).toBeLessThan(1_000);
    await eventually(() => one.assigned?.length === 4);
    expect([one.fatal, two.fatal]).toEqual([null, null]);
  });

  it('152: stays a member while its handlers take longer than the session (kafkajs#387)', async () => {
    const client = open();
    const topic = await topicWith(client, 4);
    const one = join(client, topic, { sessionTimeoutMs: 3_000 });
    await eventually(() => one.assigned !== null);
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    const { generation } = one.group.metadata;
    await one.group.commit(
      new Map([[`${topic}-0`, { topic, partition: 0, offset: 1n, metadata: '' }]]),
    );
    expect([generation, one.events]).toEqual([1, ['assigned']]);
  });

  it('keeps a static member through a restart, and fences the one that was replaced', async () => {
    const first = open();
    const topic = await topicWith(first, 4);
    const old = join(first, topic, { groupInstanceId: 'instance' });
    await eventually(() => old.assigned?.length === 4);
    const second = open();
    const fresh = join(second, topic, { groupInstanceId: 'instance' });
    await eventually(() => fresh.group.metadata.generation > 0 && old.fatal !== null);
    expect(old.fatal?.message).toContain('FENCED_INSTANCE_ID');
    expect(old.events).toContain('lost');
  });

  it('is refused clearly by a group of another protocol', async () => {
    const first = open();
    const topic = await topicWith(first, 4);
    const one = join(first, topic, {});
    await eventually(() => one.assigned !== null);
    const other = join(open(), topic, { protocolName: 'another' });
    await eventually(() => other.fatal !== null);
    expect(other.fatal?.message).toMatch(
      /Group .* does not let us join: INCONSISTENT_GROUP_PROTOCOL/,
    );
  });
});
