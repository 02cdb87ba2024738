/** The log cleaner of a running broker, as clients and operators see it; needs the build. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CreateTopics,
  DeleteRecords,
  DeleteTopics,
  DescribeConfigs,
  errorCodes,
  Fetch,
  FindCoordinator,
  IncrementalAlterConfigs,
  AlterConfigs,
  ListOffsets,
  OffsetCommit,
  Produce,
  BatchIterator,
  RecordCursor,
} from '@millrace/protocol';
import { Kafka, logLevel } from 'kafkajs';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import type { EmbeddedBroker } from './embedded-broker.ts';
import { adminRequest } from './server/admin-client.ts';
import { startBroker, type StartBrokerOptions } from './start-broker.ts';
import { batchOf, TestClient } from './testing-support/test-client.ts';

const isBuilt = existsSync(new URL('../dist/broker-worker.js', import.meta.url));
const TOPIC = 2;
const BROKER = 4;
const WITHIN_MS = 20_000;
const SLOW = 50_000;
const COPY_ATTEMPTS = 20;

const COMPACT = {
  'cleanup.policy': 'compact',
  'internal.segment.bytes': '20000',
  'file.delete.delay.ms': '0',
};

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly topic?: string;
}

interface Running {
  readonly broker: EmbeddedBroker;
  readonly client: TestClient;
  readonly lines: Line[];
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'log-cleaner-'));
  closers.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function start(options: StartBrokerOptions = {}): Promise<Running> {
  const lines: Line[] = [];
  const logger = pino(
    { level: 'info' },
    { write: (line: string) => lines.push(JSON.parse(line) as Line) },
  );
  const broker = await startBroker({
    logger,
    inProcess: true,
    ...options,
    config: { 'log.cleaner.backoff.ms': 50, ...options.config },
  });
  const client = await TestClient.connect(broker);
  closers.push(
    () => broker.close(),
    () => client.close(),
  );
  return { broker, client, lines };
}

const loud = (lines: readonly Line[]): string[] =>
  lines.filter(({ level }) => level > 30).map(({ msg }) => msg);

async function create(
  { client }: Running,
  name: string,
  configs: Record<string, string> = COMPACT,
): Promise<void> {
  const { topics } = await client.send(CreateTopics, 7, {
    topics: [
      {
        name,
        numPartitions: 1,
        replicationFactor: 1,
        configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      },
    ],
  });
  expect(topics[0]).toMatchObject({ errorCode: errorCodes.NONE, errorMessage: null });
}

/** `count` records over `keys` keys in batches of ten; what each key's last value is. */
async function fill(
  { client }: Running,
  name: string,
  count: number,
  keys: number,
): Promise<Map<string, string>> {
  const last = new Map<string, string>();
  for (let index = 0; index < count; index += 10) {
    const key = `k${String((index / 10) % keys)}`;
    const values = Array.from({ length: 10 }, (_, n) => `${'v'.repeat(90)}${String(index + n)}`);
    last.set(key, values[9] as string);
    const records = batchOf({ values, key });
    const { responses } = await client.send(Produce, 9, {
      acks: -1,
      timeoutMs: 5_000,
      topicData: [{ name, partitionData: [{ index: 0, records }] }],
    });
    expect(responses[0]?.partitionResponses[0]?.errorCode).toBe(errorCodes.NONE);
  }
  return last;
}

interface Seen {
  readonly offset: bigint;
  readonly key: string;
  readonly value: string;
}

/** Everything from an offset on. */
async function read({ client }: Running, topic: string, from = 0n): Promise<Seen[]> {
  const seen: Seen[] = [];
  const cursor = new RecordCursor();
  let fetchOffset = from;
  for (;;) {
    const answer = await client.send(Fetch, 11, {
      maxWaitMs: 0,
      minBytes: 1,
      topics: [{ topic, partitions: [{ partition: 0, fetchOffset, partitionMaxBytes: 1 << 20 }] }],
    });
    const { records, errorCode } = answer.responses[0]!.partitions[0]!;
    expect(errorCode).toBe(errorCodes.NONE);
    const batches = new BatchIterator(records ?? Buffer.alloc(0));
    let next = fetchOffset;
    for (let batch = batches.next(); batch; batch = batches.next()) {
      batch.ensureValid();
      next = batch.nextOffset;
      cursor.open(batch);
      while (cursor.next()) {
        const offset = batch.baseOffset + BigInt(cursor.offsetDelta);
        if (offset < from) continue;
        seen.push({
          offset,
          key: cursor.key()?.toString() ?? '',
          value: cursor.value()?.toString() ?? '',
        });
      }
    }
    if (next === fetchOffset) return seen;
    fetchOffset = next;
  }
}

const lastValues = (seen: readonly Seen[]): Map<string, string> =>
  new Map(seen.map(({ key, value }) => [key, value]));

/** Files come and go meanwhile, in other threads: a copy that misses one that it has listed is no moment's. */
function copyAtOnce(from: string, to: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      cpSync(from, to, { recursive: true, filter: (path) => !path.endsWith('.sock') });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === COPY_ATTEMPTS)
        throw error;
      rmSync(to, { recursive: true, force: true });
    }
  }
}

async function until<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`not within ${WITHIN_MS} ms: ${what}`);
    await sleep(10);
  }
}

async function partitionOf({ broker }: Running, topic: string) {
  const { partitions } = await broker.cleanerStatus();
  return partitions.find((one) => one.topic === topic);
}

/** All but the active segment is clean. */
function isClean(running: Running, topic: string): Promise<true> {
  return until(`${topic} is clean`, async () => {
    const found = await partitionOf(running, topic);
    const isDone =
      found?.description?.reason === 'nothing-dirty' &&
      found.description.range.firstDirtyOffset > 0n &&
      found.state === 'none';
    return isDone ? true : undefined;
  });
}

const isUnderWay = (running: Running, topic: string): Promise<true> =>
  until(`a pass over ${topic}`, async () =>
    (await partitionOf(running, topic))?.state === 'inProgress' ? true : undefined,
  );

async function alter(
  { client }: Running,
  resourceType: number,
  resourceName: string,
  values: Record<string, string | null>,
  validateOnly = false,
): Promise<{ errorCode: number; errorMessage: string | null }> {
  const { responses } = await client.send(IncrementalAlterConfigs, 1, {
    validateOnly,
    resources: [
      {
        resourceType,
        resourceName,
        configs: Object.entries(values).map(([name, value]) => ({
          name,
          value,
          configOperation: value === null ? 1 : 0,
        })),
      },
    ],
  });
  return responses[0]!;
}

const cleanedFiles = (dataDir: string, topic: string): string[] =>
  readdirSync(join(dataDir, `${topic}-0`)).filter((name) => /cleaned|swap/.test(name));

async function metric({ broker }: Running, name: string): Promise<number | undefined> {
  return (await broker.metrics()).find((one) => one.name === name)?.value;
}

describe.skipIf(!isBuilt)('a compacted topic', () => {
  it.each([true, false])(
    'is cleaned while the broker runs (in this process: %s); readers find the last value of each key',
    async (inProcess) => {
      const running = await start({ inProcess });
      const { broker, client, lines } = running;
      await create(running, 'orders');
      const last = await fill(running, 'orders', 3_000, 5);
      await isClean(running, 'orders');
      const seen = await read(running, 'orders');
      expect(seen.length).toBeLessThan(1_000);
      expect(lastValues(seen)).toEqual(last);
      const offsets = await client.send(ListOffsets, 5, {
        topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, timestamp: -1n }] }],
      });
      expect(offsets.topics[0]?.partitions[0]?.offset).toBe(3_000n);
      // Who goes on at a record that is gone gets the first that is left after it.
      const [first, second] = seen as [Seen, Seen];
      expect(first.offset).toBeGreaterThan(0n);
      expect((await read(running, 'orders', first.offset + 1n))[0]).toEqual(second);

      const status = (await adminRequest(broker.dataDir, 'status')) as Record<string, unknown>;
      expect(status).toMatchObject({
        compactedPartitions: 1,
        uncleanablePartitions: 0,
        cleanerThreads: 1,
        deadCleanerThreads: 0,
      });
      expect(status['cleanerPasses']).toBeGreaterThan(0);
      const metrics = (await adminRequest(broker.dataDir, 'metrics')) as { name: string }[];
      expect(metrics.map(({ name }) => name)).toEqual(
        (await broker.metrics()).map(({ name }) => name),
      );
      const cleaner = (await adminRequest(broker.dataDir, 'cleaner')) as { partitions: unknown[] };
      expect(cleaner.partitions).toMatchObject([
        { topic: 'orders', description: { range: { heldBackBy: 'active-segment' } } },
      ]);
      expect(loud(lines)).toEqual([]);
      expect(
        lines.some(({ msg, topic }) => msg === 'a log has been cleaned' && topic === 'orders'),
      ).toBe(true);
      await client.close();
      await broker.close();
      await expect(broker.metrics()).rejects.toMatchObject({ code: 'BROKER_STOPPED' });
    },
  );

  it('is cleaned by several threads beside others', async () => {
    const running = await start({ config: { 'log.cleaner.threads': 3 } });
    const names = Array.from({ length: 6 }, (_, index) => `orders-${index}`);
    const last = await Promise.all(
      names.map(async (name) => {
        await create(running, name);
        return fill(running, name, 1_000, 5);
      }),
    );
    await Promise.all(names.map((name) => isClean(running, name)));
    for (const [index, name] of names.entries()) {
      expect(lastValues(await read(running, name))).toEqual(last[index]);
    }
    expect(await running.broker.cleanerStatus()).toMatchObject({
      threadCount: 3,
      threadDeathCount: 0,
    });
    expect(loud(running.lines)).toEqual([]);
  });

  it('is read by kafkajs to its end', async () => {
    const running = await start();
    await create(running, 'orders');
    const last = await fill(running, 'orders', 2_000, 7);
    await isClean(running, 'orders');
    const kafka = new Kafka({
      brokers: [running.broker.bootstrapServers],
      logLevel: logLevel.NOTHING,
    });
    const consumer = kafka.consumer({ groupId: 'readers', maxWaitTimeInMs: 100 });
    closers.push(() => consumer.disconnect());
    await consumer.connect();
    await consumer.subscribe({ topic: 'orders', fromBeginning: true });
    const seen = new Map<string, string>();
    await new Promise<void>((resolve, reject) => {
      consumer
        .run({
          eachMessage: ({ message }) => {
            seen.set(String(message.key), String(message.value));
            if (message.offset === '1999') resolve();
            return Promise.resolve();
          },
        })
        .catch(reject);
    });
    expect(seen).toEqual(last);
  });

  it('is cleaned on after a restart, from where it was', async () => {
    const dataDir = await directory();
    const first = await start({ dataDir });
    await create(first, 'orders');
    await fill(first, 'orders', 1_000, 5);
    await isClean(first, 'orders');
    const before = (await partitionOf(first, 'orders'))?.description?.range.firstDirtyOffset;
    await first.client.close();
    await first.broker.close();
    expect(readFileSync(join(dataDir, 'cleaner-offset-checkpoint'), 'utf8')).toBe(
      `0\n1\norders 0 ${String(before)}\n`,
    );
    const second = await start({ dataDir });
    expect((await partitionOf(second, 'orders'))?.description?.range.firstDirtyOffset).toBe(before);
    const last = await fill(second, 'orders', 1_000, 5);
    await isClean(second, 'orders');
    expect(lastValues(await read(second, 'orders'))).toEqual(last);
    expect([...loud(first.lines), ...loud(second.lines)]).toEqual([]);
  });

  it('is whole whenever the broker is killed', async () => {
    const dataDir = await directory();
    const running = await start({
      dataDir,
      config: { 'log.cleaner.io.max.bytes.per.second': 2_000_000 },
    });
    await create(running, 'orders', { ...COMPACT, 'min.cleanable.dirty.ratio': '0.01' });
    const copies = await directory();
    let last = new Map<string, string>();
    let filesUnderWay = 0;
    const kept: { copy: string; last: Map<string, string> }[] = [];
    for (let round = 0; round < 6; round++) {
      last = new Map([...last, ...(await fill(running, 'orders', 600, 5))]);
      await until('files of a pass', () => {
        const files = cleanedFiles(dataDir, 'orders');
        filesUnderWay += files.length;
        return files.length > 0 ? true : undefined;
      });
      // What a kill leaves: the files as they are at that moment.
      const copy = join(copies, String(round));
      copyAtOnce(dataDir, copy);
      kept.push({ copy, last });
    }
    await running.client.close();
    await running.broker.close();
    expect(filesUnderWay).toBeGreaterThan(0);
    for (const { copy, last: expected } of kept) {
      const again = await start({ dataDir: copy, config: { 'log.cleaner.enable': false } });
      const seen = await read(again, 'orders');
      expect(lastValues(seen)).toEqual(expected);
      expect(seen.map(({ offset }) => offset)).toEqual(
        [...new Set(seen.map(({ offset }) => offset))].sort((a, b) => Number(a - b)),
      );
      expect(cleanedFiles(copy, 'orders')).toEqual([]);
      await again.client.close();
      await again.broker.close();
    }
  }, 60_000);

  it('under a pass lets the broker stop in bounded time, and nothing of the pass stays', async () => {
    const dataDir = await directory();
    const running = await start({
      dataDir,
      config: { 'log.cleaner.io.max.bytes.per.second': SLOW },
    });
    await create(running, 'orders');
    const last = await fill(running, 'orders', 2_000, 5);
    await isUnderWay(running, 'orders');
    await sleep(100);
    await running.client.close();
    const startedMs = performance.now();
    await running.broker.close();
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    expect(cleanedFiles(dataDir, 'orders')).toEqual([]);
    expect(loud(running.lines)).toEqual([]);
    const again = await start({ dataDir });
    await isClean(again, 'orders');
    expect(lastValues(await read(again, 'orders'))).toEqual(last);
  });

  it('that is deleted under a pass is gone, and a new one of its name starts anew', async () => {
    const running = await start({ config: { 'log.cleaner.io.max.bytes.per.second': SLOW } });
    for (let round = 0; round < 3; round++) {
      await create(running, 'orders');
      await fill(running, 'orders', 1_000, 5);
      await isUnderWay(running, 'orders');
      const { responses } = await running.client.send(DeleteTopics, 6, {
        topics: [{ name: 'orders' }],
        timeoutMs: 5_000,
      });
      expect(responses[0]?.errorCode).toBe(errorCodes.NONE);
    }
    await create(running, 'orders');
    expect(
      await alter(running, BROKER, '', { 'log.cleaner.io.max.bytes.per.second': '100000000' }),
    ).toMatchObject({ errorCode: 0 });
    const last = await fill(running, 'orders', 1_000, 5);
    await isClean(running, 'orders');
    expect(lastValues(await read(running, 'orders'))).toEqual(last);
    expect(loud(running.lines)).toEqual([]);
    expect(await metric(running, 'uncleanable-partitions-count')).toBe(0);
  });

  it('KAFKA-12840: whose policy becomes delete under a pass stays as it is', async () => {
    const running = await start({ config: { 'log.cleaner.io.max.bytes.per.second': SLOW } });
    await create(running, 'orders');
    await fill(running, 'orders', 1_000, 5);
    await isUnderWay(running, 'orders');
    expect(await alter(running, TOPIC, 'orders', { 'cleanup.policy': 'delete' })).toMatchObject({
      errorCode: 0,
    });
    expect(await partitionOf(running, 'orders')).toBeUndefined();
    const before = await read(running, 'orders');
    expect(cleanedFiles(running.broker.dataDir, 'orders')).toEqual([]);
    await sleep(300);
    expect(await read(running, 'orders')).toEqual(before);
    // And back again.
    await alter(running, BROKER, '1', { 'log.cleaner.io.max.bytes.per.second': '100000000' });
    await alter(running, TOPIC, 'orders', { 'cleanup.policy': 'compact' });
    await isClean(running, 'orders');
    expect((await read(running, 'orders')).length).toBeLessThan(500);
    expect(loud(running.lines)).toEqual([]);
  });

  it('that is damaged is shown, the others are cleaned, and it is tried again after a change', async () => {
    const dataDir = await directory();
    const first = await start({ dataDir, config: { 'log.cleaner.enable': false } });
    for (const name of ['bad', 'good']) {
      await create(first, name);
      await fill(first, name, 1_000, 5);
    }
    await first.client.close();
    await first.broker.close();
    const file = join(dataDir, 'bad-0', '00000000000000000000.log');
    const sound = readFileSync(file);
    const damaged = Buffer.from(sound);
    damaged.writeUInt8(damaged.readUInt8(5_000) ^ 0xff, 5_000);
    writeFileSync(file, damaged);

    const running = await start({ dataDir });
    await isClean(running, 'good');
    const found = await until(
      'it is uncleanable',
      async () => (await partitionOf(running, 'bad'))?.uncleanable ?? undefined,
    );
    expect(found).toMatchObject({
      code: 'LOG_CORRUPT_BATCH',
      reason: expect.stringContaining(file) as string,
    });
    expect(await metric(running, 'uncleanable-partitions-count')).toBe(1);
    expect(await metric(running, 'uncleanable-bytes')).toBeGreaterThan(80_000);
    expect(await adminRequest(dataDir, 'status')).toMatchObject({ uncleanablePartitions: 1 });
    expect(readFileSync(file).equals(damaged)).toBe(true);
    expect(loud(running.lines)).toEqual([
      expect.stringContaining('a partition is not cleaned any more'),
    ]);

    writeFileSync(file, sound);
    await alter(running, TOPIC, 'bad', { 'min.cleanable.dirty.ratio': '0.1' });
    await isClean(running, 'bad');
    expect(await metric(running, 'uncleanable-partitions-count')).toBe(0);
  });

  it('goes by its lags, ratio and policy as they are at the time', async () => {
    const running = await start();
    await create(running, 'orders', { ...COMPACT, 'min.compaction.lag.messages': '100000' });
    await fill(running, 'orders', 1_000, 5);
    await sleep(200);
    expect((await partitionOf(running, 'orders'))?.description).toMatchObject({
      reason: 'held-back',
      hold: { by: 'min.compaction.lag.messages' },
    });
    expect(await read(running, 'orders')).toHaveLength(1_000);
    await alter(running, TOPIC, 'orders', { 'min.compaction.lag.messages': '0' });
    await isClean(running, 'orders');
    expect((await read(running, 'orders')).length).toBeLessThan(500);
  });

  it('with delete as well loses old segments, and takes delete-records; without it does not', async () => {
    const running = await start();
    await create(running, 'compact', { ...COMPACT, 'min.cleanable.dirty.ratio': '1' });
    await create(running, 'both', { ...COMPACT, 'cleanup.policy': 'compact,delete' });
    const deleteTo = async (
      name: string,
      offset: bigint,
    ): Promise<{ errorCode: number; lowWatermark: bigint }> => {
      const { topics } = await running.client.send(DeleteRecords, 2, {
        timeoutMs: 5_000,
        topics: [{ name, partitions: [{ partitionIndex: 0, offset }] }],
      });
      return topics[0]!.partitions[0]!;
    };
    for (const name of ['compact', 'both']) await fill(running, name, 1_000, 5);
    expect((await deleteTo('compact', 5n)).errorCode).toBe(errorCodes.POLICY_VIOLATION);
    expect(await deleteTo('both', 995n)).toMatchObject({ errorCode: 0, lowWatermark: 995n });
    // The cleaner's round takes the segments below away (A2); nobody waits for the retention task.
    await until('segments below the log start are gone', () => {
      const bases = readdirSync(join(running.broker.dataDir, 'both-0')).filter((name) =>
        name.endsWith('.log'),
      );
      return bases.length === 1 ? true : undefined;
    });
    expect((await read(running, 'both', 995n)).map(({ offset }) => offset)).toEqual([
      995n,
      996n,
      997n,
      998n,
      999n,
    ]);
    await alter(running, TOPIC, 'both', { 'retention.bytes': '1' });
    expect(loud(running.lines)).toEqual([]);
  });
});

describe.skipIf(!isBuilt)("the broker's own topics", () => {
  it('are cleaned, and committed offsets survive it', async () => {
    const dataDir = await directory();
    const config = { 'offsets.topic.num.partitions': 1, 'offsets.topic.segment.bytes': 4_096 };
    const first = await start({ dataDir, config });
    await create(first, 'orders');
    await first.client.send(FindCoordinator, 3, { key: 'readers', keyType: 0 });
    for (let committedOffset = 0n; committedOffset < 300n; committedOffset++) {
      const { topics } = await first.client.send(OffsetCommit, 8, {
        groupId: 'readers',
        topics: [{ name: 'orders', partitions: [{ partitionIndex: 0, committedOffset }] }],
      });
      expect(topics[0]?.partitions[0]?.errorCode).toBe(errorCodes.NONE);
    }
    await isClean(first, '__consumer_offsets');
    const regions = (await partitionOf(first, '__consumer_offsets'))?.description?.regions;
    expect(regions?.find(({ kind }) => kind === 'clean')?.sizeBytes).toBeLessThan(4_096);
    await first.client.close();
    await first.broker.close();
    const second = await start({ dataDir, config });
    const again = new Kafka({
      brokers: [second.broker.bootstrapServers],
      logLevel: logLevel.NOTHING,
    }).admin();
    await again.connect();
    closers.push(() => again.disconnect());
    const [offsets] = await again.fetchOffsets({ groupId: 'readers', topics: ['orders'] });
    expect(offsets?.partitions).toMatchObject([{ partition: 0, offset: '299' }]);
    expect([...loud(first.lines), ...loud(second.lines)]).toEqual([]);
  });
});

describe.skipIf(!isBuilt)('log.cleaner settings', () => {
  const describeBroker = async (
    { client }: Running,
    resourceName: string,
    names: string[],
  ): Promise<unknown[]> => {
    const { results } = await client.send(DescribeConfigs, 4, {
      includeSynonyms: true,
      resources: [{ resourceType: BROKER, resourceName, configurationKeys: names }],
    });
    expect(results[0]?.errorCode).toBe(errorCodes.NONE);
    return results[0]!.configs;
  };

  it('change while the broker runs, for all nodes or for one, and survive a restart', async () => {
    const dataDir = await directory();
    const first = await start({
      dataDir,
      config: { 'log.cleaner.threads': 2, 'log.cleaner.backoff.ms': 1_000 },
    });
    const names = ['log.cleaner.backoff.ms', 'log.cleaner.threads', 'log.cleaner.enable'];
    expect(await describeBroker(first, '1', names)).toMatchObject([
      { name: 'log.cleaner.backoff.ms', value: '1000', readOnly: false, configSource: 4 },
      { name: 'log.cleaner.enable', value: 'true', readOnly: true, configSource: 5 },
      { name: 'log.cleaner.threads', value: '2', readOnly: false, configSource: 4 },
    ]);
    expect(
      await alter(first, BROKER, '', {
        'log.cleaner.backoff.ms': '200',
        'log.cleaner.min.compaction.lag.messages': '7',
      }),
    ).toMatchObject({ errorCode: 0 });
    expect(
      await alter(first, BROKER, '1', {
        'log.cleaner.threads': '4',
        'log.cleaner.backoff.ms': '100',
      }),
    ).toMatchObject({ errorCode: 0 });
    const changed = [
      {
        name: 'log.cleaner.backoff.ms',
        value: '100',
        configSource: 2,
        synonyms: [
          { value: '100', source: 2 },
          { value: '200', source: 3 },
          { value: '1000', source: 4 },
          { value: '15000', source: 5 },
        ],
      },
      { name: 'log.cleaner.threads', value: '4', configSource: 2 },
    ];
    const asked = ['log.cleaner.backoff.ms', 'log.cleaner.threads'];
    expect(await describeBroker(first, '1', asked)).toMatchObject(changed);
    expect(await describeBroker(first, '', [])).toMatchObject([
      { name: 'log.cleaner.backoff.ms', value: '200', configSource: 3 },
      { name: 'log.cleaner.min.compaction.lag.messages', value: '7', configSource: 3 },
    ]);
    expect((await first.broker.cleanerStatus()).threadCount).toBe(4);
    await create(first, 'orders');
    const lagOf = async ({ client }: Running): Promise<unknown> => {
      const { results } = await client.send(DescribeConfigs, 4, {
        includeSynonyms: true,
        resources: [
          {
            resourceType: TOPIC,
            resourceName: 'orders',
            configurationKeys: ['min.compaction.lag.messages'],
          },
        ],
      });
      return results[0]!.configs[0];
    };
    const lag = {
      value: '7',
      configSource: 3,
      synonyms: [
        { name: 'log.cleaner.min.compaction.lag.messages', value: '7', source: 3 },
        { value: '0', source: 5 },
      ],
    };
    expect(await lagOf(first)).toMatchObject(lag);
    await first.client.close();
    await first.broker.close();

    const second = await start({
      dataDir,
      config: { 'log.cleaner.threads': 2, 'log.cleaner.backoff.ms': 1_000 },
    });
    expect(await describeBroker(second, '1', asked)).toMatchObject(changed);
    expect((await second.broker.cleanerStatus()).threadCount).toBe(4);
    expect(await lagOf(second)).toMatchObject(lag);
    // AlterConfigs replaces all that was set for the node.
    const { responses } = await second.client.send(AlterConfigs, 2, {
      resources: [
        {
          resourceType: BROKER,
          resourceName: '1',
          configs: [{ name: 'log.cleaner.threads', value: '3' }],
        },
      ],
    });
    expect(responses[0]).toMatchObject({ errorCode: 0 });
    expect(await describeBroker(second, '1', asked)).toMatchObject([
      { value: '200', configSource: 3 },
      { value: '3', configSource: 2 },
    ]);
    expect(
      await alter(second, BROKER, '', { 'log.cleaner.min.compaction.lag.messages': null }),
    ).toMatchObject({ errorCode: 0 });
    expect(await lagOf(second)).toMatchObject({ value: '0', configSource: 5 });
  });

  it.each([
    [
      { 'log.cleaner.threads': '3' },
      /log\.cleaner\.threads: '3' is not allowed now.*double the current value 1/,
    ],
    [{ 'log.cleaner.threads': '0' }, /log\.cleaner\.threads: '0' is not allowed/],
    [
      { 'log.cleaner.dedupe.buffer.size': '1048576' },
      /log\.cleaner\.dedupe\.buffer\.size: '1048576' is not allowed/,
    ],
    [
      { 'log.cleaner.io.buffer.load.factor': '2' },
      /log\.cleaner\.io\.buffer\.load\.factor: '2' is not allowed/,
    ],
    [{ 'log.cleaner.min.cleanable.ratio': '1.5' }, /log\.cleaner\.min\.cleanable\.ratio/],
    [
      { 'log.cleaner.min.compaction.lag.ms': '10', 'log.cleaner.max.compaction.lag.ms': '5' },
      /must not be above max\.compaction\.lag\.ms/,
    ],
    [{ 'log.cleaner.max.compaction.lag.ms': '999' }, /topic orders: .*must not be above/],
    [
      { 'log.cleaner.enable': 'false' },
      /Cannot update these configs dynamically: log\.cleaner\.enable/,
    ],
    [{ 'num.partitions': '2' }, /Cannot update these configs dynamically: num\.partitions/],
    [{ 'log.cleaner.thread': '2' }, /did you mean log\.cleaner\.threads/],
  ])('refuse %j, and stay as they are', async (values, message) => {
    const running = await start();
    await create(running, 'orders', { ...COMPACT, 'min.compaction.lag.ms': '1000' });
    for (const validateOnly of [true, false]) {
      const answer = await alter(running, BROKER, '1', values, validateOnly);
      expect(answer.errorMessage).toMatch(message);
      expect([errorCodes.INVALID_REQUEST, errorCodes.INVALID_CONFIG]).toContain(answer.errorCode);
    }
    expect(existsSync(join(running.broker.dataDir, 'broker-configs.json'))).toBe(false);
    expect((await running.broker.cleanerStatus()).threadCount).toBe(1);
  });

  it('change nothing when they are only to be checked', async () => {
    const running = await start();
    expect(await alter(running, BROKER, '1', { 'log.cleaner.threads': '2' }, true)).toMatchObject({
      errorCode: 0,
    });
    expect((await running.broker.cleanerStatus()).threadCount).toBe(1);
    expect(await alter(running, BROKER, '2', { 'log.cleaner.threads': '2' })).toMatchObject({
      errorCode: errorCodes.INVALID_REQUEST,
      errorMessage: 'Unexpected broker id, expected 1, but received 2',
    });
  });

  it('that were set at run time and cannot be read end a start, and the file is named', async () => {
    const dataDir = await directory();
    const file = join(dataDir, 'broker-configs.json');
    for (const content of [
      'no JSON',
      '{"version": 2}',
      '{"version": 1, "node": {}}',
      '{"version": 1, "node": {"num.partitions": "3"}, "cluster": {}}',
      '{"version": 1, "node": {"log.cleaner.threads": "x"}, "cluster": {}}',
    ]) {
      writeFileSync(file, content);
      await expect(startBroker({ dataDir, inProcess: true })).rejects.toMatchObject({
        code: 'BROKER_CONFIGS_FILE_INVALID',
        message: expect.stringContaining(file) as string,
      });
    }
  });

  it('may turn it off', async () => {
    const running = await start({
      config: {
        'log.cleaner.enable': false,
        'log.initial.task.delay.ms': 100,
        'log.retention.check.interval.ms': 100,
      },
    });
    await create(running, 'both', { ...COMPACT, 'cleanup.policy': 'compact,delete' });
    await fill(running, 'both', 1_000, 5);
    expect((await running.broker.cleanerStatus()).threadCount).toBe(0);
    await alter(running, TOPIC, 'both', { 'retention.bytes': '20000' });
    await until('the retention task takes compacted topics, too', async () => {
      const offsets = await running.client.send(ListOffsets, 5, {
        topics: [{ name: 'both', partitions: [{ partitionIndex: 0, timestamp: -2n }] }],
      });
      return (offsets.topics[0]?.partitions[0]?.offset ?? 0n) > 0n ? true : undefined;
    });
  });
});
