import {
  FakeClock,
  MemoryDisk,
  type Disk,
  type DiskFile,
  type Operation,
} from '@millrace/compaction';
import {
  BatchBuilder,
  encodeVersioned,
  errorCodes,
  TransactionLogKey,
  TransactionLogValue,
} from '@millrace/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { coordinatorPartition } from '../coordinators/coordinator-partition.ts';
import type { CoordinatorRecord } from '../coordinators/coordinator-topic.ts';
import { TRANSACTION_STATE_TOPIC } from '../topics/topic.ts';
import { MARKER_RETRY_MS, TRANSACTIONAL_IDS } from './limits.ts';
import {
  named,
  TransactionFixture,
  type TestProducer,
} from './test-support/transaction-fixture.ts';
import { transactionRecord } from './transaction-records.ts';
import { newTransaction, type Transaction } from './transaction.ts';

const opened: TransactionFixture[] = [];
const disks = new WeakMap<TransactionFixture, MemoryDisk>();

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

async function open(
  disk: Disk = new MemoryDisk(),
  clock = new FakeClock(),
  config: Record<string, number> = {},
): Promise<TransactionFixture> {
  const broker = await TransactionFixture.open(disk, clock, config);
  opened.push(broker);
  if (disk instanceof MemoryDisk) disks.set(broker, disk);
  return broker;
}

/** The same files under a new broker, as after a kill. */
async function restart(broker: TransactionFixture): Promise<TransactionFixture> {
  const disk = disks.get(broker) ?? new MemoryDisk();
  return open(disk.afterKill(), new FakeClock(broker.clock.now()));
}

async function tryInit(
  broker: TransactionFixture,
  transactionalId: string,
  expected: Pick<TestProducer, 'producerId' | 'producerEpoch'> | null = null,
) {
  const result = await broker.transactions.initProducer({
    transactionalId,
    timeoutMs: 60_000,
    expected,
  });
  return { ...result, error: named(result.errorCode) };
}

/** Writes what an earlier broker may have left. */
function store(
  broker: TransactionFixture,
  changes: Partial<Transaction>,
  ...ids: readonly string[]
): void {
  const transaction = { ...newTransaction(500n, 60_000, broker.clock.now()), ...changes };
  for (const partition of [0, 1]) {
    const records = ids
      .filter((id) => coordinatorPartition(id, 2) === partition)
      .map((id) => transactionRecord(id, transaction));
    if (records.length > 0) append(broker, partition, records);
  }
}

function append(
  broker: TransactionFixture,
  partition: number,
  records: readonly CoordinatorRecord[],
): void {
  const log = broker.log(TRANSACTION_STATE_TOPIC, partition);
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 500_000 });
  const write = (): void => {
    log.appendAsLeader(builder.build(), { origin: 'coordinator' });
    builder.reset();
  };
  for (const { key, value } of records) {
    if (builder.appendBytes(broker.clock.now(), key, value, null)) continue;
    write();
    builder.appendBytes(broker.clock.now(), key, value, null);
  }
  write();
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `id-${i}`);

describe('a producer id', () => {
  it('is changed when its epochs are exhausted, one of which is left for the fence', async () => {
    const first = await open();
    store(first, { producerId: 500n, producerEpoch: 32_764 }, 'old');
    const broker = await restart(first);
    expect(await tryInit(broker, 'old')).toMatchObject({ producerId: 500n, producerEpoch: 32_765 });
    const last = await tryInit(broker, 'old');
    expect(last).toMatchObject({ producerId: 500n, producerEpoch: 32_766 });
    const next = await tryInit(broker, 'old', last);
    expect(next).toMatchObject({ error: 'NONE', producerEpoch: 0 });
    expect(next.producerId).toBeGreaterThan(500n);
    // The answer was lost: the same once more, for whoever has the exhausted epoch of the former id.
    const { producerId, producerEpoch } = next;
    expect(await tryInit(broker, 'old', last)).toMatchObject({ producerId, producerEpoch });
    expect((await tryInit(broker, 'old', { ...last, producerEpoch: 32_765 })).error).toBe(
      'PRODUCER_FENCED',
    );
    expect((await tryInit(broker, 'old', { ...last, producerId: 499n })).error).toBe(
      'PRODUCER_FENCED',
    );
    await broker.createTopic('t');
    const zombie = { transactionalId: 'old', producerId: 500n, producerEpoch: 32_766 };
    expect(await broker.add(zombie, 't', 0)).toBe('INVALID_PRODUCER_ID_MAPPING');
  });

  it('is changed after a fence took the last epoch', async () => {
    const first = await open();
    store(first, { producerId: 500n, producerEpoch: 32_765 }, 'old');
    const broker = await restart(first);
    await broker.createTopic('t');
    const producer = await broker.init('old');
    expect(producer.producerEpoch).toBe(32_766);
    await broker.add(producer, 't', 0);
    await broker.send(producer, 't', 0, 'lost');
    expect(await tryInit(broker, 'old')).toMatchObject({ error: 'CONCURRENT_TRANSACTIONS' });
    expect(broker.log('t').producers()).toMatchObject([{ producerEpoch: 32_767 }]);
    const next = await broker.init('old');
    expect(next.producerEpoch).toBe(0);
    expect(next.producerId).not.toBe(500n);
    expect(broker.committed('t')).toEqual([]);
  });

  it('is never one that is in __transaction_state, whatever the file of ids says', async () => {
    const first = await open();
    store(first, { producerId: 8_000n, previousProducerId: 9_000n, producerEpoch: 3 }, 'one');
    const broker = await restart(first);
    expect((await tryInit(broker, 'two')).producerId).toBe(9_001n);
  });

  it('is given once when two ask for a new transactional id at one time', async () => {
    const broker = await open();
    const [one, two] = await Promise.all([tryInit(broker, 'new'), tryInit(broker, 'new')]);
    const errors = [one, two].map(({ error }) => error);
    expect(errors.includes('NONE')).toBe(true);
    const winner = await broker.init('new');
    for (const { error, producerId, producerEpoch } of [one, two]) {
      if (error === 'NONE') {
        expect(producerId).toBe(winner.producerId);
        expect(producerEpoch).toBeLessThan(winner.producerEpoch);
      } else expect(error).toBe('CONCURRENT_TRANSACTIONS');
    }
  });
});

describe('what is loaded', () => {
  it('has open transactions open, with their time running on', async () => {
    const first = await open();
    await first.createTopic('t');
    const producer = await first.init('tx', 10_000);
    await first.add(producer, 't', 0);
    await first.send(producer, 't', 0, 'a');
    await first.commitOffset(producer, 'g', 't', 7n);
    first.clock.advance(8_000);
    const broker = await restart(first);
    expect(broker.state('tx')).toBe('Ongoing');
    expect(broker.log('t').lastStableOffset).toBe(0n);
    expect(broker.offset('g', 't')).toBe('UNSTABLE_OFFSET_COMMIT');
    // The producer does not notice.
    expect(await broker.end(producer, true)).toBe('NONE');
    expect(broker.committed('t')).toEqual(['a']);
    expect(broker.offset('g', 't')).toBe(7n);
    const again = await restart(first);
    again.clock.advance(2_001);
    await again.transactions.abortTimedOut();
    expect(again.state('tx')).toBe('CompleteAbort');
    expect(again.committed('t')).toEqual([]);
    expect(again.offset('g', 't')).toBe(-1n);
    expect(await again.end(producer, true)).toBe('PRODUCER_FENCED');
  });

  it('leaves alone what it does not know, and says so', async () => {
    const first = await open();
    const key = encodeVersioned(TransactionLogKey, 0, { transactionalId: 'x' });
    const later = Buffer.from(key);
    later.writeInt16BE(7, 0);
    const body = { producerId: 1n, producerEpoch: 0, transactionPartitions: [] };
    const inState = (transactionStatus: number): Buffer =>
      encodeVersioned(TransactionLogValue, 0, { ...body, transactionStatus });
    append(first, coordinatorPartition('x', 2), [
      { key: later, value: Buffer.from('?') },
      { key, value: Buffer.from([0, 9, 1]) },
      { key, value: Buffer.from([0, 1, 1]) },
      { key, value: inState(6) },
      { key, value: inState(7) },
      { key, value: inState(99) },
      // As Kafka writes it before transaction version 1.
      { key, value: inState(4) },
    ]);
    const broker = await restart(first);
    expect(broker.state('x')).toBe('CompleteCommit');
    expect(broker.lines.filter(({ level }) => level > 30)).toMatchObject([
      { records: 6, msg: expect.stringContaining('__transaction_state') as string },
    ]);
  });
});

describe('an open transaction that nobody knows of', () => {
  it('is aborted at the start, with a warning', async () => {
    const first = await open();
    await first.createTopic('t', 2);
    const [lost, known] = [await first.init('lost'), await first.init('known')];
    for (const [index, producer] of [lost, known].entries()) {
      await first.add(producer, 't', index);
      await first.send(producer, 't', index, producer.transactionalId);
      await first.commitOffset(producer, `group of ${producer.transactionalId}`, 't', 3n);
    }
    // As a power loss may leave it: the last records of the coordinator are gone.
    store(first, { producerId: lost.producerId, producerEpoch: 0 }, 'lost');
    const broker = await restart(first);
    expect(broker.hasOpenTransaction('t', 0)).toBe(false);
    expect(broker.committed('t', 0)).toEqual([]);
    expect(broker.offset('group of lost', 't')).toBe(-1n);
    expect(broker.hasOpenTransaction('t', 1)).toBe(true);
    expect(broker.offset('group of known', 't')).toBe('UNSTABLE_OFFSET_COMMIT');
    expect(
      broker.lines.filter(({ level, msg }) => level === 40 && msg.includes('forgotten')),
    ).toHaveLength(2);
    expect(await broker.end(known, true)).toBe('NONE');
    expect(broker.committed('t', 1)).toEqual(['known']);
  });
});

describe('a marker', () => {
  /** A disk whose writes to one topic's logs can be made to fail. */
  function failingFor(disk: MemoryDisk, topic: string): { isFull: boolean } {
    const control = { isFull: false };
    disk.onOperation = ({ kind, path }: Operation) =>
      control.isFull && kind === 'write' && path.includes(`/${topic}-`)
        ? { error: Object.assign(new Error('no space left'), { code: 'ENOSPC' }) }
        : undefined;
    return control;
  }

  it('that cannot be written is written later; until then nobody gets in between (KAFKA-16352)', async () => {
    const disk = new MemoryDisk();
    const broker = await open(disk);
    await broker.createTopic('full');
    await broker.createTopic('other');
    const producer = await broker.init('tx');
    await broker.add(producer, 'full', 0);
    await broker.add(producer, 'other', 0);
    await broker.send(producer, 'full', 0, 'a');
    await broker.send(producer, 'other', 0, 'b');
    const control = failingFor(disk, 'full');
    control.isFull = true;
    // The outcome is decided, and where it can be it is told.
    expect(await broker.end(producer, true)).toBe('NONE');
    expect(broker.state('tx')).toBe('PrepareCommit');
    expect(broker.committed('other')).toEqual(['b']);
    expect(broker.committed('full')).toEqual([]);
    for (let tries = 0; tries < 3; tries++) {
      expect((await tryInit(broker, 'tx')).error).toBe('CONCURRENT_TRANSACTIONS');
      expect(await broker.add(producer, 'other', 0)).toBe('CONCURRENT_TRANSACTIONS');
      expect(await broker.send(producer, 'other', 0, 'c')).toBe('CONCURRENT_TRANSACTIONS');
      expect(await broker.end(producer, true)).toBe('CONCURRENT_TRANSACTIONS');
      expect(await broker.end(producer, false)).toBe('INVALID_TXN_STATE');
      await broker.transactions.expireIds();
      broker.clock.advance(MARKER_RETRY_MS);
      await turn();
      expect(broker.state('tx')).toBe('PrepareCommit');
    }
    control.isFull = false;
    broker.clock.advance(MARKER_RETRY_MS);
    await turn();
    expect(broker.state('tx')).toBe('CompleteCommit');
    expect(broker.committed('full')).toEqual(['a']);
    // One marker each: data, marker.
    expect(broker.log('other').logEndOffset).toBe(2n);
    expect(broker.log('full').logEndOffset).toBe(2n);
    expect((await tryInit(broker, 'tx')).error).toBe('NONE');
    expect(broker.lines.some(({ level }) => level === 50)).toBe(true);
  });

  it('record that cannot be completed is completed later', async () => {
    const disk = new MemoryDisk();
    const broker = await open(disk);
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    await broker.add(producer, 't', 0);
    let writes = 0;
    disk.onOperation = ({ kind, path }) =>
      kind === 'write' && path.includes('__transaction_state') && (writes += 1) > 1
        ? { error: Object.assign(new Error('no space left'), { code: 'ENOSPC' }) }
        : undefined;
    expect(await broker.end(producer, false)).toBe('NONE');
    expect(broker.state('tx')).toBe('PrepareAbort');
    disk.onOperation = null;
    broker.clock.advance(MARKER_RETRY_MS);
    await turn();
    expect(broker.state('tx')).toBe('CompleteAbort');
    expect(broker.log('t').logEndOffset).toBe(1n);
  });

  it('is not waited for where the topic is gone', async () => {
    const broker = await open();
    await broker.createTopic('gone');
    await broker.createTopic('kept');
    const producer = await broker.init('tx');
    await broker.add(producer, 'gone', 0);
    await broker.add(producer, 'kept', 0);
    await broker.send(producer, 'kept', 0, 'a');
    const topic = broker.topics.get('gone');
    if (topic !== undefined) await broker.topics.delete(topic);
    expect(await broker.end(producer, true)).toBe('NONE');
    expect(broker.state('tx')).toBe('CompleteCommit');
    expect(broker.committed('kept')).toEqual(['a']);
  });

  it('is not needed where a later epoch has been, which is said', async () => {
    const broker = await open();
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    await broker.add(producer, 't', 0);
    broker.transactions.markers.write('t', 0, {
      producerId: producer.producerId,
      producerEpoch: 9,
      coordinatorEpoch: 0,
      isCommit: false,
    });
    expect(await broker.end(producer, true)).toBe('NONE');
    expect(broker.state('tx')).toBe('CompleteCommit');
    expect(broker.lines.filter(({ level }) => level > 30)).toMatchObject([
      { msg: expect.stringContaining('later epoch') as string },
    ]);
  });
});

describe('on a full disk', () => {
  it('steps are refused, change nothing, and are taken once there is room', async () => {
    const disk = new MemoryDisk();
    const broker = await open(disk);
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    let isFull = true;
    disk.onOperation = ({ kind }) =>
      isFull && kind === 'write'
        ? { error: Object.assign(new Error('no space left'), { code: 'ENOSPC' }) }
        : undefined;
    expect((await tryInit(broker, 'tx')).error).toBe('NOT_COORDINATOR');
    expect((await tryInit(broker, 'another')).error).toBe('NOT_COORDINATOR');
    expect(broker.state('another')).toBe('TRANSACTIONAL_ID_NOT_FOUND');
    expect(await broker.add(producer, 't', 0)).toBe('NOT_COORDINATOR');
    expect(broker.state('tx')).toBe('Empty');
    isFull = false;
    expect(await broker.add(producer, 't', 0)).toBe('NONE');
    await broker.send(producer, 't', 0, 'a');
    isFull = true;
    expect(await broker.end(producer, true)).toBe('NOT_COORDINATOR');
    expect((await tryInit(broker, 'tx')).error).toBe('NOT_COORDINATOR');
    broker.clock.advance(100_000);
    await broker.transactions.abortTimedOut();
    expect(broker.state('tx')).toBe('Ongoing');
    isFull = false;
    expect(await broker.end(producer, true)).toBe('NONE');
    expect(broker.committed('t')).toEqual(['a']);
  });
});

describe('with flush.messages=1', () => {
  /** A disk on which syncs of some topics' logs take until they are let through. */
  class HeldDisk {
    readonly events: string[] = [];
    readonly disk: Disk;
    readonly #held = new Map<string, (() => void)[]>();

    constructor(inner: MemoryDisk) {
      const wrap = (file: DiskFile, name: string): DiskFile => ({
        path: file.path,
        sizeBytes: () => file.sizeBytes(),
        read: (target, start, length, position) => file.read(target, start, length, position),
        write: (source, position) => {
          if (name.endsWith('.log')) this.events.push(`write ${topicOf(name)}`);
          file.write(source, position);
        },
        truncate: (sizeBytes) => {
          file.truncate(sizeBytes);
        },
        sync: async () => {
          const waiting = this.#held.get(topicOf(name));
          if (waiting !== undefined) await new Promise<void>((resolve) => waiting.push(resolve));
          await file.sync();
          if (name.endsWith('.log')) this.events.push(`synced ${topicOf(name)}`);
        },
        close: () => {
          file.close();
        },
      });
      this.disk = {
        open: (path, mode) => wrap(inner.open(path, mode), path),
        stat: (path) => inner.stat(path),
        list: (path) => inner.list(path),
        readFile: (path) => inner.readFile(path),
        writeFile: (path, content) => {
          inner.writeFile(path, content);
        },
        makeDirectory: (path) => {
          inner.makeDirectory(path);
        },
        rename: (from, to) => {
          inner.rename(from, to);
        },
        unlink: (path) => {
          inner.unlink(path);
        },
        setModified: (path, modifiedMs) => {
          inner.setModified(path, modifiedMs);
        },
        removeTree: (path) => inner.removeTree(path),
        syncDirectory: (path) => inner.syncDirectory(path),
      };
    }

    hold(...topics: string[]): void {
      for (const topic of topics) this.#held.set(topic, []);
    }

    async release(...topics: string[]): Promise<void> {
      for (const topic of topics) {
        const waiting = this.#held.get(topic) ?? [];
        this.#held.delete(topic);
        for (const resolve of waiting) resolve();
      }
      await turn();
    }
  }

  const topicOf = (path: string): string => /\/([^/]+)-\d+\/[^/]+$/.exec(path)?.[1] ?? path;

  const held = new HeldDisk(new MemoryDisk());
  afterEach(() => held.release('__transaction_state', 't', '__consumer_offsets'));

  it('no step is taken before the one before it is durable', async () => {
    const broker = await open(held.disk, new FakeClock(), { 'log.flush.interval.messages': 1 });
    await broker.createTopic('t');
    const producer = await broker.init('tx');
    await broker.add(producer, 't', 0);
    await broker.send(producer, 't', 0, 'a');
    await broker.commitOffset(producer, 'g', 't', 1n);
    held.events.length = 0;
    held.hold('__transaction_state', 't', '__consumer_offsets');
    const ended = broker.end(producer, true);
    await turn();
    expect(held.events).toEqual(['write __transaction_state']);
    // The outcome is not durable: nobody else may change it, and nobody sees it.
    expect(await broker.end(producer, true)).toBe('CONCURRENT_TRANSACTIONS');
    expect(await broker.add(producer, 't', 0)).toBe('CONCURRENT_TRANSACTIONS');
    expect((await tryInit(broker, 'tx')).error).toBe('CONCURRENT_TRANSACTIONS');
    expect(broker.committed('t')).toEqual([]);
    await broker.transactions.abortTimedOut();
    await held.release('__transaction_state');
    expect(held.events.slice(1)).toEqual([
      'synced __transaction_state',
      'write t',
      'write __consumer_offsets',
    ]);
    expect(broker.state('tx')).toBe('PrepareCommit');
    expect(await broker.end(producer, true)).toBe('CONCURRENT_TRANSACTIONS');
    await held.release('t');
    expect(held.events.slice(4)).toEqual(['synced t']);
    held.hold('__transaction_state');
    await held.release('__consumer_offsets');
    expect(held.events.slice(5)).toEqual([
      'synced __consumer_offsets',
      'write __transaction_state',
    ]);
    await held.release('__transaction_state');
    expect(await ended).toBe('NONE');
    expect(broker.state('tx')).toBe('CompleteCommit');
    expect(broker.offset('g', 't')).toBe(1n);
  });
});

describe('transactional ids', () => {
  it('that are not used expire, in batches of bounded size (KAFKA-13099, KAFKA-14880)', async () => {
    const day = 86_400_000;
    const first = await open();
    await first.createTopic('t');
    store(first, { producerEpoch: 4 }, ...numbered(10_000));
    // KAFKA-14880: it has been seen in Kafka's logs.
    store(first, { producerEpoch: -1 }, ...numbered(3_000));
    first.clock.advance(6 * day);
    const broker = await restart(first);
    const log = broker.log(TRANSACTION_STATE_TOPIC, 0);
    const stored = log.logEndOffset;
    const used = await broker.init('used');
    const ongoing = await broker.init('ongoing');
    await broker.add(ongoing, 't', 0);
    await broker.transactions.expireIds();
    expect(broker.transactions.list(all)).toHaveLength(10_002);
    broker.clock.advance(day);
    await broker.add(used, 't', 0);
    await broker.end(used, true);
    await broker.transactions.expireIds();
    expect(broker.transactions.list(all).map(({ transactionalId }) => transactionalId)).toEqual([
      'used',
      'ongoing',
    ]);
    broker.clock.advance(8 * day);
    await broker.transactions.expireIds();
    expect(broker.state('used')).toBe('TRANSACTIONAL_ID_NOT_FOUND');
    expect(broker.state('ongoing')).toBe('Ongoing');
    const { records } = log.read(stored, 1 << 26, { isolation: 'logEnd' });
    let largest = 0;
    for (let at = 0; at < records.length; at += 12 + records.readInt32BE(at + 8)) {
      largest = Math.max(largest, records.readInt32BE(at + 8));
    }
    expect(largest).toBeLessThan(70_000);
    const again = await restart(broker);
    expect(again.transactions.list(all)).toHaveLength(1);
    // A forgotten one begins anew.
    expect(await tryInit(again, 'id-3')).toMatchObject({ error: 'NONE', producerEpoch: 0 });
  });

  it('have a bound', async () => {
    const first = await open();
    store(first, { producerEpoch: 4 }, ...numbered(TRANSACTIONAL_IDS));
    const broker = await restart(first);
    expect((await tryInit(broker, 'one more')).error).toBe('POLICY_VIOLATION');
    expect((await tryInit(broker, 'id-7')).error).toBe('NONE');
    expect(broker.lines.filter(({ level }) => level > 30)).toMatchObject([
      { msg: expect.stringContaining('too many') as string },
    ]);
  });

  it('are not there before __transaction_state is', async () => {
    const broker = await open();
    const topic = broker.topics.get(TRANSACTION_STATE_TOPIC);
    if (topic !== undefined) await broker.topics.delete(topic);
    expect(await tryInit(broker, 'tx')).toMatchObject({ errorCode: errorCodes.NOT_COORDINATOR });
    const producer = { transactionalId: 'tx', producerId: 1n, producerEpoch: 0 };
    expect(await broker.end(producer, true)).toBe('NOT_COORDINATOR');
    expect(broker.state('tx')).toBe('NOT_COORDINATOR');
  });
});

const all = { states: null, producerIds: [], durationMs: -1n };

/** What has been started comes to where it waits. */
async function turn(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
