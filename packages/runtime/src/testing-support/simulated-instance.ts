import type {
  AdminPort,
  GroupOptions,
  GroupPort,
  MemberAssignment,
  OffsetAndMetadata,
  OffsetsToCommit,
  ProducerOptions,
  ProducerPort,
  TopicPartition,
  TopicPartitionKey,
  TransactionalProducerOptions,
  TransactionalProducerPort,
} from '../client/ports.ts';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { KafkaStreams } from '../kafka-streams.ts';
import { silentLogger } from '../logging/logger.ts';
import type { Clock, Timer } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import type { Topology } from '../topology/topology.ts';
import { FakeAdmin, FakeClient } from './fake-client.ts';
import type { FakeClock } from './fake-clock.ts';
import type { FakeCluster } from './fake-cluster.ts';
import { type FakeGroup, FakeMember } from './fake-group.ts';
import { FakeProducer } from './fake-producer.ts';
import { type CommitStep, FakeTransactionalProducer } from './fake-transactional-producer.ts';

/** What a process waits for at this moment; a kill may come at each of them. */
export type Moment =
  | CommitStep
  | 'init'
  | 'abort'
  | 'aborted'
  | 'flushed'
  | 'group commit'
  | 'group committed'
  | 'look-up'
  | 'leave'
  | 'purge'
  | 'purged';

/** Takes its time, fails, or never ends because the process is dead. */
type Network = (moment: Moment) => Promise<void>;

/** A clock that stands still for one process once it was killed: nothing that waits for it goes on. */
class ProcessClock implements Clock {
  readonly #clock: FakeClock;
  isStopped = false;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  setTimer(ms: number, fn: () => void): Timer {
    return this.#clock.setTimer(ms, () => {
      if (!this.isStopped) fn();
    });
  }
}

export interface SimulatedInstanceOptions {
  readonly cluster: FakeCluster;
  readonly clock: FakeClock;
  readonly topology: Topology;
  readonly config: StreamsConfigInput;
  /** Two with the same have the same identity, as a restarted instance has. */
  readonly random: Random;
  /** Called with the instance's clock; what it throws is what the request failed with. */
  readonly network: (moment: Moment, clock: Clock) => Promise<void>;
}

/** One process of an application on a fake cluster, which can be killed at any moment. */
export class SimulatedInstance {
  readonly streams: KafkaStreams;
  readonly client: SimulatedClient;
  readonly #clock: ProcessClock;
  readonly #killed: Promise<void>;
  #setKilled: () => void = () => undefined;

  constructor(options: SimulatedInstanceOptions) {
    const { cluster, topology, config, random } = options;
    const clock = new ProcessClock(options.clock);
    this.#killed = new Promise((resolve) => {
      this.#setKilled = resolve;
    });
    this.#clock = clock;
    this.client = new SimulatedClient(cluster, (moment) => options.network(moment, clock));
    this.streams = new KafkaStreams(topology, config, {
      client: this.client,
      clock,
      random,
      environment: {},
      logger: silentLogger(),
      yieldToEventLoop: () =>
        new Promise((resolve) => {
          setImmediate(() => {
            if (!clock.isStopped) resolve();
          });
        }),
    });
  }

  get isKilled(): boolean {
    return this.#clock.isStopped;
  }

  /** Stops it; done as well when it is killed meanwhile. */
  async stop(): Promise<void> {
    await Promise.race([this.streams.close(), this.#killed]);
  }

  /** As kill -9: from now on it does nothing, and tells nobody. */
  kill(): void {
    this.#clock.isStopped = true;
    this.#setKilled();
    for (const fetcher of this.client.fetchers) void fetcher.close();
    for (const member of this.client.simulatedMembers) member.die();
  }
}

class SimulatedClient extends FakeClient {
  readonly #network: Network;
  readonly simulatedMembers: SimulatedMember[] = [];

  constructor(cluster: FakeCluster, network: Network) {
    super(cluster);
    this.#network = network;
  }

  override group(options: GroupOptions): GroupPort {
    const member = new SimulatedMember(this.cluster.group(options.groupId), this.#network);
    this.simulatedMembers.push(member);
    return member;
  }

  override producer(options: ProducerOptions): ProducerPort {
    return new SimulatedProducer(this.cluster, options, this.#network);
  }

  override transactionalProducer(options: TransactionalProducerOptions): TransactionalProducerPort {
    const producer = new SimulatedTransactionalProducer(this.cluster, options, this.#network);
    this.transactionalProducers.push(producer);
    return producer;
  }

  override admin(): AdminPort {
    return new SimulatedAdmin(this.cluster, this.#network);
  }
}

class SimulatedAdmin extends FakeAdmin {
  readonly #network: Network;

  constructor(cluster: FakeCluster, network: Network) {
    super(cluster);
    this.#network = network;
  }

  override async deleteRecords(
    offsets: readonly (TopicPartition & { readonly offset: bigint })[],
  ): Promise<ReadonlyMap<TopicPartitionKey, bigint | Error>> {
    await this.#network('purge');
    const answer = await super.deleteRecords(offsets);
    await this.#network('purged');
    return answer;
  }
}

class SimulatedMember extends FakeMember {
  readonly #network: Network;
  /** Settled by the death: whoever waits for this member goes on. */
  readonly #dead: Promise<void>;
  #die: () => void = () => undefined;

  constructor(group: FakeGroup, network: Network) {
    super(group);
    this.#network = network;
    this.#dead = new Promise((resolve) => {
      this.#die = resolve;
    });
  }

  die(): void {
    this.#die();
  }

  override async prepare(): Promise<void> {
    await Promise.race([super.prepare(), this.#dead]);
  }

  override async assigned(assignment: MemberAssignment, generation: number): Promise<void> {
    await Promise.race([super.assigned(assignment, generation), this.#dead]);
  }

  override async lost(error: Error): Promise<void> {
    await Promise.race([super.lost(error), this.#dead]);
  }

  override async commit(offsets: OffsetsToCommit): Promise<void> {
    await this.#network('group commit');
    await super.commit(offsets);
    await this.#network('group committed');
  }

  override async committed(
    partitions: readonly TopicPartition[],
  ): Promise<ReadonlyMap<TopicPartitionKey, OffsetAndMetadata>> {
    await this.#network('look-up');
    return super.committed(partitions);
  }

  override async leave(): Promise<void> {
    await this.#network('leave').catch(() => undefined);
    await super.leave();
  }
}

class SimulatedProducer extends FakeProducer {
  constructor(cluster: FakeCluster, options: ProducerOptions, network: Network) {
    super(cluster, options);
    // What was not sent stays where it is, and the next flush sends it.
    this.onFlush = () => network('flushed');
  }
}

class SimulatedTransactionalProducer extends FakeTransactionalProducer {
  readonly #network: Network;

  constructor(cluster: FakeCluster, options: TransactionalProducerOptions, network: Network) {
    super(cluster, options);
    this.#network = network;
    this.onCommitStep = (step) => network(step);
    this.onFlush = () => network('flushed');
  }

  override async initTransactions(): Promise<void> {
    await this.#network('init');
    await super.initTransactions();
  }

  override async abortTransaction(): Promise<void> {
    await this.#network('abort');
    await super.abortTransaction();
    await this.#network('aborted');
  }
}
