import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { Kafka, logLevel } from 'kafkajs';
import {
  ApiVersions,
  FindCoordinator,
  Heartbeat,
  Metadata,
  decodeRequestHeader,
  encodeResponse,
} from '@millrace/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { ShutdownError } from '../../errors.ts';
import { silentLogger } from '../../logging/logger.ts';
import { systemClock } from '../../platform/clock.ts';
import { apiUses } from '../apis.ts';
import { ANY_NODE } from '../transport.ts';
import type { AnyApiUse } from '../transport.ts';
import { kafkaJsClient } from './kafkajs-client.ts';
import { checkPool, newCluster } from './internals.ts';
import { KafkaJsTransport } from './kafkajs-transport.ts';

interface Stub {
  readonly port: number;
  readonly sockets: Set<Socket>;
  readonly asked: { apiKey: number; socket: Socket }[];
  /** What to do with everything but ApiVersions. */
  answer: (apiKey: number, version: number, correlationId: number, socket: Socket) => void;
  close(): Promise<void>;
}

const everyVersion = [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18, 22].map((apiKey) => ({
  apiKey,
  minVersion: 0,
  maxVersion: 20,
}));

async function stub(apiKeys = everyVersion): Promise<Stub> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 4 && rest.length >= 4 + rest.readInt32BE(0)) {
        const end = 4 + rest.readInt32BE(0);
        const header = decodeRequestHeader(rest.subarray(4, end));
        rest = rest.subarray(end);
        const { apiKey, apiVersion, correlationId } = header;
        self.asked.push({ apiKey, socket });
        if (apiKey === ApiVersions.key) {
          const version = Math.min(apiVersion, 2);
          send(
            socket,
            encodeResponse(ApiVersions, version, correlationId, { errorCode: 0, apiKeys }),
          );
        } else {
          self.answer(apiKey, apiVersion, correlationId, socket);
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const self: Stub = {
    port: (server.address() as AddressInfo).port,
    sockets,
    asked: [],
    answer: () => undefined,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return self;
}

function send(socket: Socket, chunks: readonly Buffer[]): void {
  for (const chunk of chunks) socket.write(chunk);
}

describe('KafkaJsTransport', () => {
  const ending: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ending.splice(0)) await end();
  });

  async function setUp(requiredUses: readonly AnyApiUse[] = [], apiKeys = everyVersion) {
    const broker = await stub(apiKeys);
    const kafka = new Kafka({ brokers: [`127.0.0.1:${broker.port}`], logLevel: logLevel.NOTHING });
    const transport = new KafkaJsTransport({
      cluster: newCluster(kafka),
      requiredUses,
      clock: systemClock,
      random: () => 0.5,
      logger: silentLogger(),
    });
    ending.push(
      () => transport.close(1_000),
      () => broker.close(),
    );
    return { broker, transport };
  }

  const heartbeat = { groupId: 'g', generationId: 1, memberId: 'm' };

  it('answers each caller with its own answer, whatever the order', async () => {
    const { broker, transport } = await setUp();
    const held: (() => void)[] = [];
    broker.answer = (_key, version, correlationId, socket) => {
      const errorCode = held.length;
      held.push(() =>
        send(socket, encodeResponse(Heartbeat, version, correlationId, { errorCode })),
      );
    };
    const all = [0, 1, 2].map(() =>
      transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 }),
    );
    while (held.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const answer of held.toReversed()) answer();
    expect((await Promise.all(all)).map(({ errorCode }) => errorCode)).toEqual([0, 1, 2]);
    expect(broker.sockets.size).toBe(1);
  });

  it('uses a second connection for what the broker may hold back', async () => {
    const { broker, transport } = await setUp();
    broker.answer = (_key, version, correlationId, socket) =>
      send(socket, encodeResponse(Heartbeat, version, correlationId, { errorCode: 0 }));
    await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 });
    await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, {
      timeoutMs: 5_000,
      lane: 'parked',
    });
    expect(broker.sockets.size).toBe(2);
  });

  it('gives up a connection whose answer does not come, and makes a new one', async () => {
    const { broker, transport } = await setUp();
    const late = transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 200 });
    const beside = transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 60_000 });
    const failed = expect(beside).rejects.toMatchObject({ code: 'TIMEOUT', retriable: true });
    await expect(late).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: `Heartbeat to 127.0.0.1:${broker.port} was not answered within 200 ms`,
    });
    await failed;
    broker.answer = (_key, version, correlationId, socket) =>
      send(socket, encodeResponse(Heartbeat, version, correlationId, { errorCode: 0 }));
    await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 });
    expect(broker.sockets.size).toBe(2);
  });

  it('fails what is under way when the broker goes, and connects anew afterwards', async () => {
    const { broker, transport } = await setUp();
    broker.answer = (_key, _version, _correlationId, socket) => {
      // Half an answer must not be taken for the beginning of the next.
      socket.write(Buffer.from([0, 0, 0, 50, 0, 0]));
      setTimeout(() => socket.destroy(), 20);
    };
    const sent = [0, 1, 2].map(() =>
      transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 }),
    );
    for (const { status } of await Promise.allSettled(sent)) expect(status).toBe('rejected');
    await expect(sent[0]).rejects.toMatchObject({ code: 'CONNECTION_FAILED', retriable: true });
    broker.answer = (_key, version, correlationId, socket) =>
      send(socket, encodeResponse(Heartbeat, version, correlationId, { errorCode: 7 }));
    const { errorCode } = await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, {
      timeoutMs: 5_000,
    });
    expect(errorCode).toBe(7);
  });

  it('takes an idle connection that the broker closed for lost', async () => {
    const { broker, transport } = await setUp();
    broker.answer = (_key, version, correlationId, socket) =>
      send(socket, encodeResponse(Heartbeat, version, correlationId, { errorCode: 0 }));
    await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 });
    for (const socket of broker.sockets) socket.end();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 });
    expect(broker.sockets.size).toBe(2);
  });

  it('names api, our versions and theirs when they do not meet, at either end', async () => {
    const newer = [{ apiKey: Heartbeat.key, minVersion: 5, maxVersion: 9 }];
    const future = await setUp([], newer);
    await expect(
      future.transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 }),
    ).rejects.toThrow(
      `Heartbeat is needed in a version from 1 to 3, but the broker at 127.0.0.1:${future.broker.port} speaks it in versions 5 to 9`,
    );
    const older = [{ apiKey: Heartbeat.key, minVersion: 0, maxVersion: 0 }];
    const past = await setUp([], older);
    await expect(
      past.transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 }),
    ).rejects.toMatchObject({ code: 'UNSUPPORTED_VERSION' });
    const required = await setUp([apiUses.metadata], newer);
    await expect(
      required.transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 }),
    ).rejects.toThrow(/Metadata is needed .* not at all/);
  });

  it('fails on an answer that is no answer, without taking it for retriable', async () => {
    const { broker, transport } = await setUp();
    broker.answer = (_key, _version, correlationId, socket) => {
      const frame = Buffer.alloc(10);
      frame.writeInt32BE(6, 0);
      frame.writeInt32BE(correlationId, 4);
      socket.write(frame);
    };
    const answer = transport.send(ANY_NODE, apiUses.metadata, { topics: [] }, { timeoutMs: 5_000 });
    await expect(answer).rejects.toMatchObject({ code: 'CLIENT_FAILED', retriable: false });
  });

  it('gives up a connection that speaks something else, and makes a new one', async () => {
    const { broker, transport } = await setUp();
    broker.answer = (_key, _version, _correlationId, socket) =>
      socket.write('HTTP/1.1 400\r\n\r\n');
    await expect(
      transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 }),
    ).rejects.toMatchObject({ code: 'RESPONSE_FRAME_INVALID', retriable: true });
    broker.answer = (_key, version, correlationId, socket) =>
      send(socket, encodeResponse(Heartbeat, version, correlationId, { errorCode: 0 }));
    await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 });
    expect(broker.sockets.size).toBe(2);
  });

  it('lets what is under way to a broker that left the cluster be tried again', async () => {
    const { broker, transport } = await setUp();
    transport.setNodes([{ nodeId: 1, host: '127.0.0.1', port: broker.port }]);
    const waiting = transport.send(1, apiUses.heartbeat, heartbeat, { timeoutMs: 60_000 });
    const rejected = expect(waiting).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
      retriable: true,
    });
    while (broker.asked.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    transport.setNodes([{ nodeId: 2, host: '127.0.0.1', port: broker.port }]);
    await rejected;
  });

  it('176: finds a moved cluster through the bootstrap servers (quix-streams#1082)', async () => {
    const { broker, transport } = await setUp();
    broker.answer = (key, version, correlationId, socket) => {
      if (key !== Metadata.key) throw new Error('unexpected');
      send(socket, encodeResponse(Metadata, version, correlationId, { brokers: [], topics: [] }));
    };
    // What is known leads nowhere.
    transport.setNodes([{ nodeId: 1, host: '127.0.0.1', port: 1 }]);
    const tries = [0, 1].map(() =>
      transport.send(ANY_NODE, apiUses.metadata, { topics: [] }, { timeoutMs: 5_000 }),
    );
    const results = await Promise.allSettled(tries);
    expect(results.map(({ status }) => status)).toContain('fulfilled');
    await expect(
      transport.send(9, apiUses.metadata, { topics: [] }, { timeoutMs: 5_000 }),
    ).rejects.toThrow('Broker 9 is not known');
  });

  it('167: rejects everything at once when closed, while connecting too (kafkajs#796)', async () => {
    const { broker, transport } = await setUp();
    await transport
      .send(ANY_NODE, apiUses.findCoordinator, { key: 'g' }, { timeoutMs: 100 })
      .catch(() => undefined);
    const waiting = transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 60_000 });
    const rejected = expect(waiting).rejects.toThrow(ShutdownError);
    await transport.close(1_000);
    await rejected;
    await expect(
      transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 100 }),
    ).rejects.toThrow(ShutdownError);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([...broker.sockets].every(({ destroyed }) => destroyed)).toBe(true);
    expect(FindCoordinator.key).toBe(10);
  });

  it('leaves kafkajs no timer that runs while nothing happens', async () => {
    const { broker, transport } = await setUp();
    broker.answer = (_key, version, correlationId, socket) =>
      send(socket, encodeResponse(Heartbeat, version, correlationId, { errorCode: 0 }));
    await transport.send(ANY_NODE, apiUses.heartbeat, heartbeat, { timeoutMs: 5_000 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout');
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(timers.length).toBeLessThanOrEqual(1); // the test's own
  });
});

describe('the self-check', () => {
  it('refuses what is not built as kafkajs 2.2.4', () => {
    expect(() => newCluster({ consumer: () => ({}) } as unknown as Kafka)).toThrow(
      /cluster\.connectionPoolBuilder\.build\(\) is missing/,
    );
    expect(() => checkPool({ pool: [] })).toThrow(
      /connectionPool\.pool\.0\.connect\(\) is missing/,
    );
  });

  it('wants brokers or a Kafka', () => {
    expect(() => kafkaJsClient({ clientId: 'x', logger: silentLogger() })).toThrow(
      /`kafka` or `config`/,
    );
  });
});
