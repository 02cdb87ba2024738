import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  InlineThread,
  nodeDisk,
  systemClock,
  systemRandom,
  type Disk,
  type DiskFile,
} from '@millrace/compaction';
import {
  CreateTopics,
  DeleteRecords,
  DeleteTopics,
  DescribeConfigs,
  errorByCode,
  errorCodes,
  Fetch,
  FindCoordinator,
  IncrementalAlterConfigs,
  InitProducerId,
  Metadata,
  OffsetCommit,
  OffsetFetch,
  Produce,
} from '@millrace/protocol';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Broker } from './broker.ts';
import { parseBrokerConfig } from './config.ts';
import { batchOf, TestClient } from './testing-support/test-client.ts';

/** Node's disk until it is told that there is no space left. */
class FillingDisk {
  isFull = false;

  disk(): Disk {
    const refuse = (): void => {
      if (this.isFull) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    };
    return {
      ...nodeDisk,
      open: (path, mode) => filling(nodeDisk.open(path, mode), refuse),
      writeFile: (path, content) => {
        refuse();
        nodeDisk.writeFile(path, content);
      },
      makeDirectory: (path) => {
        refuse();
        nodeDisk.makeDirectory(path);
      },
    };
  }
}

function filling(file: DiskFile, refuse: () => void): DiskFile {
  return {
    path: file.path,
    sizeBytes: () => file.sizeBytes(),
    read: (target, start, length, position) => file.read(target, start, length, position),
    write: (source, position) => {
      refuse();
      file.write(source, position);
    },
    truncate: (sizeBytes) => {
      file.truncate(sizeBytes);
    },
    sync: () => file.sync(),
    close: () => {
      file.close();
    },
  };
}

describe('a full disk', () => {
  const filler = new FillingDisk();
  const lines: { level: number; msg: string }[] = [];
  let dataDir: string;
  let broker: Broker;
  let client: TestClient;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'full-disk-'));
    broker = await start();
    client = await TestClient.connect(broker);
  });

  const start = (): Promise<Broker> =>
    Broker.start({
      dataDir,
      host: '127.0.0.1',
      port: 0,
      config: parseBrokerConfig({}),
      clock: systemClock,
      disk: filler.disk(),
      random: systemRandom,
      logger: pino(
        { level: 'info' },
        { write: (line: string) => lines.push(JSON.parse(line) as (typeof lines)[0]) },
      ),
      newCleanerThread: (settings) =>
        new InlineThread(
          { disk: filler.disk(), clock: systemClock, random: systemRandom },
          settings,
        ),
    });

  afterEach(async () => {
    filler.isFull = false;
    await client.close();
    await broker.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const create = async (name: string): Promise<number> => {
    const { topics } = await client.send(CreateTopics, 7, {
      topics: [{ name, numPartitions: 2, replicationFactor: 1 }],
    });
    return topics[0]!.errorCode;
  };
  const produce = async (value: string) => {
    const { responses } = await client.send(Produce, 9, {
      acks: -1,
      topicData: [
        { name: 'a', partitionData: [{ index: 0, records: batchOf({ values: [value] }) }] },
      ],
    });
    return responses[0]!.partitionResponses[0]!;
  };

  it('fails writes with a clear code while reads go on, and is over when there is space', async () => {
    expect(await create('a')).toBe(errorCodes.NONE);
    expect(await produce('1')).toMatchObject({ errorCode: errorCodes.NONE, baseOffset: 0n });
    filler.isFull = true;
    for (let i = 0; i < 50; i++) {
      expect(await produce('2')).toMatchObject({ errorCode: errorCodes.KAFKA_STORAGE_ERROR });
    }
    expect(await create('b')).toBe(errorCodes.KAFKA_STORAGE_ERROR);
    const init = { transactionalId: null, producerId: -1n, producerEpoch: -1 };
    expect(await client.send(InitProducerId, 4, init)).toMatchObject({
      errorCode: errorCodes.COORDINATOR_NOT_AVAILABLE,
    });
    const fetched = await client.send(Fetch, 11, {
      maxWaitMs: 0,
      topics: [{ topic: 'a', partitions: [{ partition: 0, partitionMaxBytes: 1000 }] }],
    });
    expect(fetched.responses[0]!.partitions[0]).toMatchObject({ errorCode: 0, highWatermark: 1n });
    expect(lines.filter(({ msg }) => msg.includes('no space left')).length).toBeLessThan(5);

    filler.isFull = false;
    expect(await produce('3')).toMatchObject({ errorCode: errorCodes.NONE, baseOffset: 1n });
    expect(await create('b')).toBe(errorCodes.NONE);
    expect(await client.send(InitProducerId, 4, init)).toMatchObject({
      errorCode: errorCodes.NONE,
    });
    const { topics } = await client.send(Metadata, 9, { topics: null });
    expect(topics.map(({ name }) => name).sort()).toEqual(['a', 'b']);
  });

  it('keeps groups, transactions and changes of topics as they were, and takes them when there is space', async () => {
    expect(await create('a')).toBe(errorCodes.NONE);
    expect(await produce('1')).toMatchObject({ errorCode: errorCodes.NONE });
    for (const keyType of [0, 1]) await client.send(FindCoordinator, 3, { key: 'k', keyType });
    const commit = async (committedOffset: bigint): Promise<number> => {
      const { topics } = await client.send(OffsetCommit, 8, {
        groupId: 'k',
        topics: [{ name: 'a', partitions: [{ partitionIndex: 0, committedOffset }] }],
      });
      return topics[0]!.partitions[0]!.errorCode;
    };
    const committed = async (): Promise<bigint> => {
      const { groups } = await client.send(OffsetFetch, 8, {
        groups: [{ groupId: 'k', topics: [{ name: 'a', partitionIndexes: [0] }] }],
      });
      return groups[0]!.topics[0]!.partitions[0]!.committedOffset;
    };
    const init = async (): Promise<number> => {
      const request = { transactionalId: 'k', transactionTimeoutMs: 10_000 };
      return (await client.send(InitProducerId, 4, request)).errorCode;
    };
    const retention = async (value: string): Promise<number> => {
      const configs = [{ name: 'retention.ms', configOperation: 0, value }];
      const resources = [{ resourceType: 2, resourceName: 'a', configs }];
      return (await client.send(IncrementalAlterConfigs, 1, { resources })).responses[0]!.errorCode;
    };
    const described = async (): Promise<string | null | undefined> => {
      const configurationKeys = ['retention.ms'];
      const resources = [{ resourceType: 2, resourceName: 'a', configurationKeys }];
      return (await client.send(DescribeConfigs, 4, { resources })).results[0]?.configs[0]?.value;
    };
    const purge = async (): Promise<number> => {
      const partitions = [{ partitionIndex: 0, offset: 1n }];
      const { topics } = await client.send(DeleteRecords, 2, {
        timeoutMs: 5_000,
        topics: [{ name: 'a', partitions }],
      });
      return topics[0]!.partitions[0]!.errorCode;
    };
    const remove = async (): Promise<number> => {
      const { responses } = await client.send(DeleteTopics, 5, { topicNames: ['a'] });
      return responses[0]!.errorCode;
    };
    expect(await commit(1n)).toBe(errorCodes.NONE);
    expect(await retention('111')).toBe(errorCodes.NONE);

    filler.isFull = true;
    expect(errorByCode(await commit(2n)).name).toBe('NOT_COORDINATOR');
    expect(await committed()).toBe(1n);
    expect(errorByCode(await init()).name).toBe('COORDINATOR_NOT_AVAILABLE');
    expect(errorByCode(await retention('222')).name).toBe('KAFKA_STORAGE_ERROR');
    expect(await described()).toBe('111');
    expect(errorByCode(await purge()).name).toBe('KAFKA_STORAGE_ERROR');
    expect(errorByCode(await remove()).name).toBe('KAFKA_STORAGE_ERROR');
    const { topics } = await client.send(Metadata, 9, { topics: [{ name: 'a' }] });
    expect(topics[0]).toMatchObject({ errorCode: 0, name: 'a' });

    filler.isFull = false;
    expect(await commit(3n)).toBe(errorCodes.NONE);
    expect(await committed()).toBe(3n);
    expect(errorByCode(await init()).name).toBe('NONE');
    expect(await retention('333')).toBe(errorCodes.NONE);
    expect(await described()).toBe('333');
    expect(errorByCode(await purge()).name).toBe('NONE');
    expect(errorByCode(await remove()).name).toBe('NONE');
  });

  it('stops cleanly, and what was acknowledged is there at the next start', async () => {
    expect(await create('a')).toBe(errorCodes.NONE);
    expect(await produce('1')).toMatchObject({ errorCode: errorCodes.NONE });
    filler.isFull = true;
    expect(await produce('2')).toMatchObject({ errorCode: errorCodes.KAFKA_STORAGE_ERROR });
    await broker.close().catch(() => undefined);
    await expect(start()).rejects.toThrow(/no space left/);
    filler.isFull = false;
    broker = await start();
    client = await TestClient.connect(broker);
    expect(await produce('3')).toMatchObject({ errorCode: errorCodes.NONE, baseOffset: 1n });
  });
});
