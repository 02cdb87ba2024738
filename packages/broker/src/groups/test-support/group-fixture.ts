import type { Clock, Timer } from '@millrace/compaction';
import { BatchIterator, RecordBatch } from '@millrace/protocol';
import { pino } from 'pino';
import { GroupCoordinator } from '../coordinator.ts';
import { defaultGroupConfig, type GroupConfig } from '../group-config.ts';
import { decodeRecord, type DecodedRecord } from '../group-records.ts';
import type {
  CommitRequest,
  GroupClient,
  JoinRequest,
  JoinResult,
  SyncRequest,
  SyncResult,
} from '../group-service.ts';
import type {
  CoordinatorTopic,
  CoordinatorTopicPartition,
} from '../../coordinators/coordinator-topic.ts';
import { RecordCursor } from '@millrace/protocol';

/** A clock that tests turn by hand. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  readonly #timers = new Set<{ readonly at: number; readonly fn: () => void }>();

  now(): number {
    return this.#now;
  }

  monotonicMs(): number {
    return this.#now;
  }

  setTimer(ms: number, fn: () => void): Timer {
    const timer = { at: this.#now + ms, fn };
    this.#timers.add(timer);
    return { cancel: () => this.#timers.delete(timer) };
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      let next: { readonly at: number; readonly fn: () => void } | undefined;
      for (const timer of this.#timers) {
        if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
      }
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.fn();
    }
    this.#now = end;
  }
}

/** A partition of `__consumer_offsets` in memory. */
export class MemoryLog {
  readonly batches: Buffer[] = [];
  readonly logStartOffset = 0n;
  logEndOffset = 0n;
  /** Thrown by the next appends, while it is set. */
  failure: Error | null = null;

  append(records: Buffer): void {
    if (this.failure !== null) throw this.failure;
    const copy = Buffer.from(records);
    const batch = new RecordBatch(copy);
    batch.setBaseOffset(this.logEndOffset);
    this.logEndOffset = batch.nextOffset;
    this.batches.push(copy);
  }

  read(offset: bigint, maxBytes: number): { records: Buffer } {
    const found: Buffer[] = [];
    let size = 0;
    for (const bytes of this.batches) {
      const batch = new RecordBatch(bytes);
      if (batch.nextOffset <= offset) continue;
      if (found.length > 0 && size + bytes.length > maxBytes) break;
      found.push(bytes);
      size += bytes.length;
    }
    return { records: Buffer.concat(found) };
  }

  asPartition(): CoordinatorTopicPartition {
    const log = {
      appendAsLeader: (records: Buffer) => {
        this.append(records);
      },
      read: (offset: bigint, maxBytes: number) => this.read(offset, maxBytes),
      logStartOffset: 0n,
      logEndOffset: 0n,
    };
    Object.defineProperty(log, 'logEndOffset', { get: () => this.logEndOffset });
    return { leaderEpoch: 0, log: log as unknown as CoordinatorTopicPartition['log'] };
  }

  /** Every record, decoded, in order. */
  decoded(): DecodedRecord[] {
    const records: DecodedRecord[] = [];
    const cursor = new RecordCursor();
    const batches = new BatchIterator(Buffer.concat(this.batches));
    for (let batch = batches.next(); batch !== null; batch = batches.next()) {
      cursor.open(batch);
      while (cursor.next()) records.push(decodeRecord(cursor.key() as Buffer, cursor.value()));
    }
    return records;
  }
}

export class TestClient implements GroupClient {
  readonly clientId: string;
  readonly clientHost = '/127.0.0.1';
  isClosed = false;
  readonly #listeners = new Set<() => void>();

  constructor(clientId = 'client') {
    this.clientId = clientId;
  }

  onClose(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  close(): void {
    this.isClosed = true;
    for (const listener of [...this.#listeners]) listener();
    this.#listeners.clear();
  }
}

/** A promise whose outcome can be looked at without waiting. */
export interface Pending<T> {
  readonly result: T | undefined;
}

export class GroupFixture {
  readonly clock = new ManualClock();
  readonly client = new TestClient();
  readonly log: MemoryLog;
  readonly coordinator: GroupCoordinator;
  readonly topics = new Map<string, number>([
    ['orders', 4],
    ['other', 1],
  ]);
  #uuids: number;

  constructor(
    config: Partial<GroupConfig> = {},
    log = new MemoryLog(),
    isTopicThere = true,
    uuids = 0,
  ) {
    this.log = log;
    this.#uuids = uuids;
    const offsetsTopic: CoordinatorTopic = {
      partitionCount: isTopicThere ? 1 : 0,
      partition: () => log.asPartition(),
    };
    this.coordinator = new GroupCoordinator({
      clock: this.clock,
      logger: pino({ level: 'silent' }),
      config: { ...defaultGroupConfig, ...config },
      topics: {
        hasPartition: (topic, partition) =>
          partition >= 0 && partition < (this.topics.get(topic) ?? 0),
        topicId: (topic) => (this.topics.has(topic) ? TOPIC_ID : 'AAAAAAAAAAAAAAAAAAAAAA'),
      },
      offsetsTopic,
      newUuid: () => `uuid-${(this.#uuids += 1)}`,
    });
    this.coordinator.load();
  }

  /** The same log under a new coordinator, as after a kill. */
  restart(config: Partial<GroupConfig> = {}): GroupFixture {
    return new GroupFixture(config, this.log, true, this.#uuids);
  }

  join(request: Partial<JoinRequest> = {}, client: GroupClient = this.client): Pending<JoinResult> {
    return observe(this.coordinator.joinGroup({ ...joinDefaults, ...request }, client));
  }

  sync(request: Partial<SyncRequest>, client: GroupClient = this.client): Pending<SyncResult> {
    return observe(this.coordinator.syncGroup({ ...syncDefaults, ...request }, client));
  }

  heartbeat(memberId: string, generationId: number, groupInstanceId: string | null = null): number {
    return this.coordinator.heartbeat({ groupId: 'g', memberId, generationId, groupInstanceId });
  }

  commit(request: Partial<CommitRequest> = {}): number[] {
    const topics = this.coordinator.commitOffsets({ ...commitDefaults, ...request });
    return topics.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode));
  }

  fetch(topic: string, partition: number, groupId = 'g', requireStable = false) {
    const query = [{ name: topic, partitionIndexes: [partition] }];
    return this.coordinator.fetchOffsets(groupId, query, requireStable)[0]?.partitions[0];
  }

  state(groupId = 'g'): string | undefined {
    return this.coordinator.describeGroup(groupId)?.groupState;
  }

  /** Two turns of the microtask queue: what has been answered can be seen then. */
  async settle(): Promise<void> {
    await Promise.resolve();
    await Promise.resolve();
  }

  /** Dynamic members that have joined and synced; their ids, the leader first. */
  async stable(...names: string[]): Promise<string[]> {
    const ids = names.map((name) => {
      const first = this.join({}, new TestClient(name));
      return first;
    });
    await this.settle();
    const memberIds = ids.map(({ result }) => result?.memberId ?? '');
    const joins = memberIds.map((memberId) => this.join({ memberId }));
    this.clock.advance(0);
    await this.settle();
    const leader = joins[0]?.result;
    const generationId = leader?.generationId ?? -1;
    for (const memberId of memberIds) {
      const assignments =
        memberId === leader?.leader
          ? memberIds.map((id) => ({ memberId: id, assignment: Buffer.from(`for ${id}`) }))
          : [];
      this.sync({ memberId, generationId, assignments });
    }
    await this.settle();
    return memberIds;
  }
}

export const TOPIC_ID = 'q83vASNFZ4mrze8BI0VniQ';

export const SESSION_MS = 10_000;
export const REBALANCE_MS = 60_000;

/** A consumer's subscription, version 0, to one topic. */
export function subscriptionTo(topic: string): Buffer {
  const bytes = Buffer.alloc(2 + 4 + 2 + topic.length + 4);
  bytes.writeInt32BE(1, 2);
  bytes.writeInt16BE(topic.length, 6);
  bytes.write(topic, 8);
  bytes.writeInt32BE(-1, 8 + topic.length);
  return bytes;
}

const joinDefaults: JoinRequest = {
  groupId: 'g',
  sessionTimeoutMs: SESSION_MS,
  rebalanceTimeoutMs: REBALANCE_MS,
  memberId: '',
  groupInstanceId: null,
  protocolType: 'consumer',
  protocols: [{ name: 'range', metadata: subscriptionTo('orders') }],
  reason: null,
  requiresKnownMemberId: true,
  supportsSkippingAssignment: true,
};

const syncDefaults: SyncRequest = {
  groupId: 'g',
  generationId: 1,
  memberId: '',
  groupInstanceId: null,
  protocolType: 'consumer',
  protocolName: null,
  assignments: [],
};

const commitDefaults: CommitRequest = {
  groupId: 'g',
  generationId: -1,
  memberId: '',
  groupInstanceId: null,
  retentionTimeMs: -1n,
  supportsGroupIdNotFound: false,
  topics: [
    {
      name: 'orders',
      partitions: [
        {
          partitionIndex: 0,
          committedOffset: 42n,
          committedLeaderEpoch: 3,
          committedMetadata: 'note',
        },
      ],
    },
  ],
};

/** Commits of one partition, ready for `commit()`. */
export function commitOf(
  topic: string,
  partitionIndex: number,
  committedOffset: bigint,
  committedMetadata: string | null = '',
): CommitRequest['topics'] {
  const committedLeaderEpoch = -1;
  const partition = { partitionIndex, committedOffset, committedLeaderEpoch, committedMetadata };
  return [{ name: topic, partitions: [partition] }];
}

function observe<T>(answer: T | Promise<T>): Pending<T> {
  const pending: { result: T | undefined } = { result: undefined };
  if (answer instanceof Promise) {
    void answer.then((result) => {
      pending.result = result;
    });
  } else {
    pending.result = answer;
  }
  return pending;
}
