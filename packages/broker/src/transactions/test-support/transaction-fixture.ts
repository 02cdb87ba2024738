import {
  FakeClock,
  LogDir,
  parseLogConfig,
  type Disk,
  type DirectoryLocker,
  type Log,
} from '@millrace/compaction';
import {
  BatchBuilder,
  BatchIterator,
  errorByCode,
  errorCodes,
  RecordCursor,
} from '@millrace/protocol';
import { pino } from 'pino';
import { parseBrokerConfig, type BrokerConfigInput } from '../../config.ts';
import { createGroups } from '../../create-groups.ts';
import { createTransactions } from '../../create-transactions.ts';
import type { GroupService } from '../../groups/group-service.ts';
import { StorageErrors } from '../../storage-errors.ts';
import { internalTopic } from '../../topics/internal-topics.ts';
import { TopicRegistry } from '../../topics/registry.ts';
import { CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC } from '../../topics/topic.ts';
import { TopicsFile } from '../../topics/topics-file.ts';
import type { TransactionCoordinator } from '../coordinator.ts';
import { ProducerIds } from '../producer-ids.ts';

const ROOT = '/data';

/** Disks in memory are nobody else's. */
const freeLocker: DirectoryLocker = {
  acquire: () => Promise.resolve({ release: () => Promise.resolve() }),
};

export interface TestProducer {
  readonly transactionalId: string;
  readonly producerId: bigint;
  readonly producerEpoch: number;
}

export interface LogLine {
  readonly level: number;
  readonly msg: string;
}

/** Codes as names, so that a failing test reads well. */
export function named(code: number): string {
  return errorByCode(code).name;
}

/** What producers know of their own sequences, by partition; they outlive brokers. */
const sequences = new WeakMap<TestProducer, Map<string, number>>();

/** Topics, groups and transactions of one broker over a disk, without its server. */
export class TransactionFixture {
  readonly clock: FakeClock;
  readonly logDir: LogDir;
  readonly topics: TopicRegistry;
  readonly groups: GroupService;
  readonly transactions: TransactionCoordinator;
  readonly lines: LogLine[];

  private constructor(
    clock: FakeClock,
    logDir: LogDir,
    topics: TopicRegistry,
    groups: GroupService,
    transactions: TransactionCoordinator,
    lines: LogLine[],
  ) {
    this.clock = clock;
    this.logDir = logDir;
    this.topics = topics;
    this.groups = groups;
    this.transactions = transactions;
    this.lines = lines;
  }

  /** Starts on what the disk holds; both internal topics are there, with two partitions each. */
  static async open(
    disk: Disk,
    clock = new FakeClock(),
    input: BrokerConfigInput = {},
  ): Promise<TransactionFixture> {
    const lines: LogLine[] = [];
    const logger = pino(
      { level: 'info' },
      { write: (line: string) => lines.push(JSON.parse(line) as LogLine) },
    );
    const { config, given } = parseBrokerConfig({
      'offsets.topic.num.partitions': 2,
      'transaction.state.log.num.partitions': 2,
      ...input,
    });
    let seed = clock.now() % 1000;
    const logDir = await LogDir.open(ROOT, {
      clock,
      disk,
      locker: freeLocker,
      logger,
      configOf: (topic) => parseLogConfig(TopicsFile.load(disk, ROOT).configsOf(topic), given),
      producerExpirationMs: config['producer.id.expiration.ms'],
    });
    const topics = new TopicRegistry({
      logDir,
      cleaner: {
        withoutCleaning: async (_, action) => action(),
        configChanged: () => Promise.resolve(),
      },
      file: TopicsFile.load(disk, ROOT),
      defaults: given,
      newTopicId: () => Buffer.alloc(16, (seed += 1)).toString('base64url'),
      internalTopic: (name) => internalTopic(name, config),
      logger,
    });
    await topics.load();
    const producerIds = ProducerIds.load(disk, ROOT);
    for (const log of logDir.logs()) {
      for (const { producerId } of log.producers()) producerIds.markUsed(producerId);
    }
    const groups = createGroups(topics, config, clock, logger, () => `uuid-${(seed += 1)}`);
    groups.load();
    const storageErrors = new StorageErrors(clock, logger);
    const transactions = createTransactions({
      topics,
      groups,
      producerIds,
      config,
      clock,
      logger,
      storageErrors,
    });
    await transactions.load();
    await topics.ensureInternal(CONSUMER_OFFSETS_TOPIC);
    await topics.ensureInternal(TRANSACTION_STATE_TOPIC);
    return new TransactionFixture(clock, logDir, topics, groups, transactions, lines);
  }

  async close(): Promise<void> {
    await this.transactions.close();
    this.groups.close();
    await this.logDir.close();
  }

  log(topic: string, partition = 0): Log {
    const found = this.topics.partition(topic, partition);
    if (found === undefined) throw new Error(`there is no ${topic}-${partition}`);
    return found.log;
  }

  async createTopic(name: string, partitionCount = 1): Promise<void> {
    await this.topics.create({ name, partitionCount, configs: new Map() });
  }

  async init(transactionalId: string, timeoutMs = 60_000): Promise<TestProducer> {
    for (let tries = 0; tries < 10; tries++) {
      const result = await this.transactions.initProducer({
        transactionalId,
        timeoutMs,
        expected: null,
      });
      if (result.errorCode === errorCodes.NONE) return { transactionalId, ...result };
      if (result.errorCode !== errorCodes.CONCURRENT_TRANSACTIONS) {
        throw new Error(named(result.errorCode));
      }
    }
    throw new Error('still CONCURRENT_TRANSACTIONS');
  }

  async add(producer: TestProducer, topic: string, ...partitions: number[]): Promise<string> {
    const added = new Map([[topic, new Set(partitions)]]);
    return named(await this.transactions.addPartitions(producer, added));
  }

  /** AddOffsetsToTxn and TxnOffsetCommit of `topic`-0. */
  async commitOffset(
    producer: TestProducer,
    groupId: string,
    topic: string,
    committedOffset: bigint,
  ): Promise<string> {
    const partition = this.groups.offsetsPartitionOf(groupId) ?? -1;
    const added = await this.add(producer, CONSUMER_OFFSETS_TOPIC, partition);
    if (added !== 'NONE') return added;
    const { producerId, producerEpoch } = producer;
    const results = this.groups.commitTransactionalOffsets({
      groupId,
      producerId,
      producerEpoch,
      generationId: -1,
      memberId: '',
      groupInstanceId: null,
      topics: [
        {
          name: topic,
          partitions: [
            {
              partitionIndex: 0,
              committedOffset,
              committedLeaderEpoch: -1,
              committedMetadata: null,
            },
          ],
        },
      ],
    });
    const flushError = await this.groups.flushIfDue(groupId);
    return named(flushError ?? results[0]?.partitions[0]?.errorCode ?? -1);
  }

  /** As Produce does it: verified, appended, and durable if that is asked for. */
  async send(
    producer: TestProducer,
    topic: string,
    partition: number,
    ...values: string[]
  ): Promise<string> {
    const errorCode = this.transactions.verify(producer, topic, partition);
    if (errorCode !== errorCodes.NONE) return named(errorCode);
    const { producerId, producerEpoch } = producer;
    const known = sequences.get(producer) ?? new Map<string, number>();
    sequences.set(producer, known);
    const baseSequence = known.get(`${topic}-${partition}`) ?? 0;
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 20 });
    for (const value of values) {
      builder.appendBytes(this.clock.now(), null, Buffer.from(value), null);
    }
    const records = builder.build({
      producerId,
      producerEpoch,
      baseSequence,
      isTransactional: true,
    });
    const log = this.log(topic, partition);
    log.appendAsLeader(records, { origin: 'client' });
    await log.flushIfDue();
    known.set(`${topic}-${partition}`, baseSequence + values.length);
    return 'NONE';
  }

  async end(producer: TestProducer, isCommit: boolean): Promise<string> {
    return named(await this.transactions.endTransaction(producer, isCommit));
  }

  /** What a consumer makes of the partition that reads committed records only. */
  committed(topic: string, partition = 0): string[] {
    const log = this.log(topic, partition);
    const { records, abortedTransactions } = log.read(log.logStartOffset, 1 << 24, {
      isolation: 'readCommitted',
    });
    const aborted = [...(abortedTransactions ?? [])].sort((a, b) =>
      a.firstOffset < b.firstOffset ? -1 : 1,
    );
    const open = new Set<bigint>();
    const values: string[] = [];
    const batches = new BatchIterator(records);
    const cursor = new RecordCursor();
    for (let batch = batches.next(); batch !== null; batch = batches.next()) {
      while (aborted[0] !== undefined && aborted[0].firstOffset <= batch.lastOffset) {
        open.add(aborted[0].producerId);
        aborted.shift();
      }
      if (batch.isControl) open.delete(batch.producerId);
      else if (!open.has(batch.producerId)) {
        cursor.open(batch);
        while (cursor.next()) values.push(String(cursor.value()));
      }
    }
    return values;
  }

  hasOpenTransaction(topic: string, partition = 0): boolean {
    const log = this.log(topic, partition);
    return log.lastStableOffset < log.logEndOffset;
  }

  /** The group's offset of `topic`-0, or the error's name. */
  offset(groupId: string, topic: string, requireStable = true): bigint | string {
    const query = [{ name: topic, partitionIndexes: [0] }];
    const found = this.groups.fetchOffsets(groupId, query, requireStable)[0]?.partitions[0];
    if (found === undefined) return 'no answer';
    return found.errorCode === errorCodes.NONE ? found.committedOffset : named(found.errorCode);
  }

  state(transactionalId: string): string {
    const found = this.transactions.describe(transactionalId);
    return typeof found === 'number' ? named(found) : found.state;
  }
}
