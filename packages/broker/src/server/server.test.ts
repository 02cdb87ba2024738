import { FakeClock } from '@millrace/compaction';
import {
  ApiVersions,
  CreateTopics,
  encodeRequest,
  errorCodes,
  Fetch,
  Metadata,
  Produce,
} from '@millrace/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import type { BrokerConfigInput } from '../config.ts';
import type { EmbeddedBroker } from '../embedded-broker.ts';
import { CONNECTION_SWEEP_INTERVAL_MS, STALLED_REQUEST_MS } from '../limits.ts';
import { startBroker } from '../start-broker.ts';
import { batchOf, TestClient } from '../testing-support/test-client.ts';

const opened: { close(): Promise<void> }[] = [];

async function start(config: BrokerConfigInput = {}): Promise<EmbeddedBroker> {
  const broker = await startBroker({ inProcess: true, config });
  opened.push(broker);
  return broker;
}

async function connect(broker: EmbeddedBroker): Promise<TestClient> {
  const client = await TestClient.connect(broker);
  opened.push(client);
  return client;
}

afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
});

/** A request frame of these header fields and nothing else. */
function header(
  apiKey: number,
  apiVersion: number,
  correlationId: number,
  rest = Buffer.alloc(0),
): Buffer {
  const frame = Buffer.alloc(14);
  frame.writeInt32BE(10 + rest.length, 0);
  frame.writeInt16BE(apiKey, 4);
  frame.writeInt16BE(apiVersion, 6);
  frame.writeInt32BE(correlationId, 8);
  frame.writeInt16BE(-1, 12);
  return Buffer.concat([frame, rest]);
}

async function expectServed(broker: EmbeddedBroker): Promise<void> {
  const client = await connect(broker);
  const { errorCode } = await client.send(ApiVersions, 2, {});
  expect(errorCode).toBe(errorCodes.NONE);
}

describe('ApiVersions', () => {
  it('lists what is served, and 0 for produce (KAFKA-18659)', async () => {
    const client = await connect(await start());
    const { apiKeys, errorCode } = await client.send(ApiVersions, 4, {
      clientSoftwareName: 'a-client',
      clientSoftwareVersion: '1.2',
    });
    expect(errorCode).toBe(errorCodes.NONE);
    expect(apiKeys.find(({ apiKey }) => apiKey === Produce.key)).toMatchObject({ minVersion: 0 });
    expect(apiKeys.find(({ apiKey }) => apiKey === Fetch.key)).toMatchObject({
      minVersion: 4,
      maxVersion: 17,
    });
    expect(apiKeys.map(({ apiKey }) => apiKey)).toEqual(
      [...apiKeys.map(({ apiKey }) => apiKey)].sort((a, b) => a - b),
    );
  });

  it('answers an unknown version in version 0, with its range (KIP-511)', async () => {
    const client = await connect(await start());
    const answer = new Promise<Buffer>((resolve) => client.socket.once('data', resolve));
    client.write(header(ApiVersions.key, 99, 7));
    const bytes = await answer;
    expect(bytes.readInt32BE(4)).toBe(7);
    expect(bytes.readInt16BE(8)).toBe(errorCodes.UNSUPPORTED_VERSION);
    expect(bytes.readInt32BE(10)).toBe(1);
    expect([bytes.readInt16BE(14), bytes.readInt16BE(16), bytes.readInt16BE(18)]).toEqual([
      18, 0, 4,
    ]);
    expect(client.isClosed).toBe(false);
  });

  it('refuses a client name that could not be one', async () => {
    const client = await connect(await start());
    const { errorCode } = await client.send(ApiVersions, 3, {
      clientSoftwareName: '-bad name',
      clientSoftwareVersion: '1',
    });
    expect(errorCode).toBe(errorCodes.INVALID_REQUEST);
  });
});

describe('hostile bytes', () => {
  const size = (length: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeInt32BE(length);
    return bytes;
  };

  it.each([
    ['a negative length', size(-1)],
    ['a length above socket.request.max.bytes', size(104_857_601)],
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    ['a TLS hello', Buffer.from('16030100c8010000c40303', 'hex')],
    ['an empty frame', size(0)],
    ['a frame without a whole header', Buffer.concat([size(3), Buffer.alloc(3)])],
    ['an unknown API key', header(999, 0, 1)],
    ['a version that is not served', header(Produce.key, 2, 1)],
    ['a negative version', header(Metadata.key, -1, 1)],
    ['a body that is cut', header(Metadata.key, 1, 1, Buffer.from([0, 0]))],
    [
      'an array that says a billion',
      header(Metadata.key, 1, 1, Buffer.from([0x3b, 0x9a, 0xca, 0])),
    ],
    ['a client id longer than its frame', Buffer.from('0000000a000300010000000170ff', 'hex')],
  ])('closes the connection on %s and serves others', async (_what, bytes) => {
    const broker = await start();
    const bad = await connect(broker);
    bad.write(bytes);
    await bad.closed;
    await expectServed(broker);
  });

  it('keeps a slow frame waiting without holding others up', async () => {
    const broker = await start();
    const slow = await connect(broker);
    slow.write(Buffer.concat([size(1_000_000), Buffer.alloc(10)]));
    await expectServed(broker);
    expect(slow.isClosed).toBe(false);
  });
});

describe('a connection', () => {
  it('answers in the order of its requests, also behind a parked fetch', async () => {
    const broker = await start();
    const client = await connect(broker);
    await client.send(Metadata, 4, { topics: [{ name: 'orders' }], allowAutoTopicCreation: true });
    const fetch = client.post(Fetch, 11, {
      maxWaitMs: 300,
      minBytes: 1,
      topics: [{ topic: 'orders', partitions: [{ partition: 0, partitionMaxBytes: 1000 }] }],
    });
    const metadata = await Promise.all([
      client.send(Metadata, 4, { topics: null }),
      client.send(ApiVersions, 1, {}),
    ]);
    expect(metadata[0].topics).toHaveLength(1);
    expect(client.answered.slice(-3)).toEqual([fetch, fetch + 1, fetch + 2]);
  });

  it('is closed when it has been idle for connections.max.idle.ms', async () => {
    const client = await connect(await start({ 'connections.max.idle.ms': 100 }));
    await client.send(ApiVersions, 1, {});
    await client.closed;
  });

  it('whose client has said its last is closed, also with a request in hand, and leaves nothing behind', async () => {
    const broker = await start();
    const client = await connect(broker);
    await client.send(Metadata, 4, { topics: [{ name: 'quiet' }], allowAutoTopicCreation: true });
    client.post(Fetch, 11, {
      maxWaitMs: 60_000,
      minBytes: 1,
      topics: [{ topic: 'quiet', partitions: [{ partition: 0, partitionMaxBytes: 1000 }] }],
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.socket.end();
    await client.closed;
    await expectServed(broker);
  });

  it('is refused above max.connections', async () => {
    const broker = await start({ 'max.connections': 2 });
    const first = await connect(broker);
    const second = await connect(broker);
    await Promise.all([first.send(ApiVersions, 1, {}), second.send(ApiVersions, 1, {})]);
    const third = await connect(broker);
    await third.closed;
    await first.close();
    await expectServed(broker);
  });

  it('that reads nothing makes the broker hold a bounded part of its answers', async () => {
    const broker = await start();
    const writer = await connect(broker);
    await writer.send(Metadata, 4, { topics: [{ name: 'big' }], allowAutoTopicCreation: true });
    const records = batchOf({ values: [Buffer.alloc(1_000_000)] });
    await writer.send(Produce, 7, {
      acks: -1,
      timeoutMs: 1000,
      topicData: [{ name: 'big', partitionData: [{ index: 0, records }] }],
    });
    const lazy = await connect(broker);
    lazy.socket.pause();
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 200; i++) {
      lazy.post(Fetch, 11, {
        maxWaitMs: 0,
        minBytes: 1,
        maxBytes: 2_000_000,
        topics: [{ topic: 'big', partitions: [{ partition: 0, partitionMaxBytes: 2_000_000 }] }],
      });
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    await expectServed(broker);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60 * 1024 * 1024);
    lazy.socket.resume();
    while (lazy.answered.length < 200) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(lazy.answered).toEqual(Array.from({ length: 200 }, (_, index) => index));
  });
});

describe('a flood behind a parked fetch', () => {
  it('of empty frames is left in the socket, not in memory', async () => {
    const broker = await start();
    const client = await connect(broker);
    await client.send(Metadata, 4, { topics: [{ name: 'quiet' }], allowAutoTopicCreation: true });
    client.post(Fetch, 11, {
      maxWaitMs: 60_000,
      minBytes: 1,
      topics: [{ topic: 'quiet', partitions: [{ partition: 0, partitionMaxBytes: 1000 }] }],
    });
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 20; i++) client.write(Buffer.alloc(4 * 1024 * 1024));
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(client.socket.writableLength).toBeGreaterThan(40 * 1024 * 1024);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(120 * 1024 * 1024);
    await expectServed(broker);
  });
});

describe('the memory of all connections', () => {
  const MIB = 1024 * 1024;
  const until = async (holds: () => boolean): Promise<void> => {
    for (let i = 0; i < 500 && !holds(); i++)
      await new Promise((resolve) => setTimeout(resolve, 10));
    expect(holds()).toBe(true);
  };

  async function withTopic(config: BrokerConfigInput, topic: string): Promise<EmbeddedBroker> {
    const broker = await start(config);
    const client = await connect(broker);
    await client.send(CreateTopics, 7, {
      topics: [
        {
          name: topic,
          numPartitions: 1,
          replicationFactor: 1,
          configs: [{ name: 'max.message.bytes', value: String(16 * MIB) }],
        },
      ],
    });
    return broker;
  }

  it('holds few of many large requests that arrive at once, and takes all of them in the end', async () => {
    const broker = await withTopic({ 'queued.max.request.bytes': 16 * MIB }, 'large');
    const records = batchOf({ values: [Buffer.alloc(8 * MIB)] });
    const request = Buffer.concat(
      encodeRequest(
        Produce,
        9,
        { correlationId: 1, clientId: 'large' },
        { acks: -1, topicData: [{ name: 'large', partitionData: [{ index: 0, records }] }] },
      ),
    );
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect(broker)));
    const before = process.memoryUsage().arrayBuffers;
    for (const client of clients) client.write(request.subarray(0, -1));
    await new Promise((resolve) => setTimeout(resolve, 500));
    // All of them would be 160 MiB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60 * MIB);
    await expectServed(broker);
    for (const client of clients) client.write(request.subarray(-1));
    await until(() => clients.every(({ answered }) => answered.length === 1));
  });

  it('is given back by a large request that stands still while others wait', async () => {
    const clock = new FakeClock();
    const broker = await startBroker({
      inProcess: true,
      clock,
      config: { 'queued.max.request.bytes': MIB },
    });
    opened.push(broker);
    const size = Buffer.alloc(4);
    size.writeInt32BE(50 * MIB);
    const stuck = await Promise.all(Array.from({ length: 3 }, () => connect(broker)));
    for (const client of stuck) client.write(Buffer.concat([size, Buffer.alloc(2 * MIB)]));
    await new Promise((resolve) => setTimeout(resolve, 300));
    await expectServed(broker);
    expect(stuck.filter(({ isClosed }) => isClosed)).toHaveLength(0);
    for (const closedCount of [1, 2]) {
      clock.advance(STALLED_REQUEST_MS + CONNECTION_SWEEP_INTERVAL_MS);
      await until(() => stuck.filter(({ isClosed }) => isClosed).length === closedCount);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // Nobody waits for what the last one holds.
    clock.advance(STALLED_REQUEST_MS + CONNECTION_SWEEP_INTERVAL_MS);
    expect(stuck.filter(({ isClosed }) => isClosed)).toHaveLength(2);
  });

  it('gives smaller answers while many clients do not take theirs', async () => {
    const broker = await withTopic({}, 'read');
    const writer = await connect(broker);
    const records = batchOf({ values: [Buffer.alloc(MIB)] });
    for (let i = 0; i < 40; i++) {
      await writer.send(Produce, 9, {
        acks: -1,
        topicData: [{ name: 'read', partitionData: [{ index: 0, records }] }],
      });
    }
    const before = process.memoryUsage().arrayBuffers;
    const fetch = {
      maxWaitMs: 0,
      minBytes: 1,
      maxBytes: 100 * MIB,
      topics: [{ topic: 'read', partitions: [{ partition: 0, partitionMaxBytes: 100 * MIB }] }],
    };
    const lazy = await Promise.all(Array.from({ length: 14 }, () => connect(broker)));
    for (const client of lazy) {
      client.socket.pause();
      client.post(Fetch, 11, fetch);
    }
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    // 14 times 40 MiB would be 560.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(400 * MIB);
    const { responses } = await writer.send(Fetch, 11, fetch);
    expect(responses[0]?.partitions[0]?.records?.length).toBeGreaterThan(MIB);
    for (const client of lazy) client.socket.resume();
    await until(() => lazy.every(({ answered }) => answered.length === 1));
  });
});

describe('stopping', () => {
  it('answers a parked fetch and ends in bounded time', async () => {
    const broker = await start();
    const client = await connect(broker);
    await client.send(Metadata, 4, { topics: [{ name: 'orders' }], allowAutoTopicCreation: true });
    const parked = client.send(Fetch, 11, {
      maxWaitMs: 60_000,
      minBytes: 1,
      topics: [{ topic: 'orders', partitions: [{ partition: 0, partitionMaxBytes: 1000 }] }],
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const started = performance.now();
    await broker.close();
    expect(performance.now() - started).toBeLessThan(2_000);
    expect((await parked).responses[0]?.partitions[0]?.errorCode).toBe(errorCodes.NONE);
    await client.closed;
  });
});
