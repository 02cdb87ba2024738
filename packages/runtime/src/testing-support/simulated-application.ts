import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { TimeoutError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import type { Random } from '../platform/random.ts';
import { serdes } from '../serdes/serdes.ts';
import type { Topology } from '../topology/topology.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeCluster } from './fake-cluster.ts';
import { seededRandom } from './seeded-random.ts';
import { type Moment, SimulatedInstance } from './simulated-instance.ts';

export type Guarantee = 'at_least_once' | 'exactly_once_v2';

const APPLICATION = 'app';
const REPARTITION = `${APPLICATION}-words-repartition`;
const CHANGELOG = `${APPLICATION}-counts-changelog`;
const PARTITIONS = 2;
const WORDS = 7;
const SLOTS = 3;
const STEPS = 60;
const STEP_MAX_MS = 400;
const RECORDS_MAX = 12;
const COMMIT_INTERVAL_MS = 100;
const DELETE_INTERVAL_MS = 1_000;
const LATENCY_MAX_MS = 30;
/** Of the requests while there is trouble. */
const FAILURE_RATE = 0.04;
/** Of the records: those that fail at once, as many that fail later, and all that are asynchronous. */
const RECORD_FAILURE_RATE = 0.005;
const ASYNCHRONOUS_RATE = 0.05;
/** How long a dead member is taken for alive, and its transaction for open. */
const SESSION_TIMEOUT_MS = 3_000;
const TRANSACTION_TIMEOUT_MS = 10_000;
/** After the last trouble: everything must be through by then. */
const HEALING_MS = 40_000;

/** An instance's place: who is started there again is the same one. */
interface Slot {
  readonly seed: number;
  instance: SimulatedInstance | null;
}

/**
 * Counts words behind a repartition topic, by up to three instances, for a while of trouble and a while
 * without; then holds what came out against the input.
 */
export class SimulatedApplication {
  readonly faults: string[] = [];
  /** Moments at which a process was killed. */
  readonly killedAt = new Set<Moment>();
  readonly #guarantee: Guarantee;
  readonly #random: Random;
  readonly #clock = new FakeClock();
  readonly #cluster = new FakeCluster();
  readonly #slots: readonly Slot[];
  readonly #written = new Map<string, number>();
  readonly #stopping: Promise<unknown>[] = [];
  /** The next process that comes to this moment is killed there. */
  #killAt: Moment | null = null;
  #isTroubled = true;

  constructor(seed: number, guarantee: Guarantee) {
    this.#guarantee = guarantee;
    this.#random = seededRandom(seed);
    this.#slots = Array.from({ length: SLOTS }, (_, i) => ({
      seed: seed * 31 + i,
      instance: null,
    }));
    this.#cluster.createTopic('in', PARTITIONS);
    this.#cluster.createTopic('out', 1);
    this.#cluster.onDeleteRecords = () => {
      this.#checkPurge();
      return Promise.resolve();
    };
  }

  async run(): Promise<void> {
    this.#start(this.#slots[0] as Slot);
    for (let step = 0; step < STEPS; step++) {
      this.#act();
      await this.#clock.advance(1 + Math.floor(this.#random() * STEP_MAX_MS));
    }
    this.#isTroubled = false;
    this.#killAt = null;
    if (this.#alive().length === 0) this.#start(this.#slots[0] as Slot);
    await this.#clock.advance(HEALING_MS);
    this.#check();
    for (const instance of this.#alive()) this.#stopping.push(instance.stop());
    await this.#clock.advance(HEALING_MS);
    await Promise.all(this.#stopping);
  }

  // ------------------------------------------------------------------------------------- trouble

  #act(): void {
    const dice = this.#random();
    if (dice < 0.6) this.#write();
    else if (dice < 0.7) this.#start(this.#pick(this.#slots));
    else if (dice < 0.76) this.#stop();
    else if (dice < 0.82) this.#kill();
    else if (dice < 0.9) this.#killAt = this.#pick(MOMENTS);
    else if (dice < 0.95) this.#expel();
    else this.#cluster.group(APPLICATION).rebalance();
  }

  #write(): void {
    const partition = Math.floor(this.#random() * PARTITIONS);
    const count = 1 + Math.floor(this.#random() * RECORDS_MAX);
    for (let i = 0; i < count; i++) {
      const word = `word-${String(Math.floor(this.#random() * WORDS))}`;
      this.#written.set(word, (this.#written.get(word) ?? 0) + 1);
      this.#cluster.log('in', partition).write([{ key: 'k', value: word, timestamp: 1 }]);
    }
    this.#cluster.changed('in', partition);
  }

  #start(slot: Slot): void {
    const known = slot.instance;
    if (known !== null && isAlive(known)) return;
    const instance: SimulatedInstance = new SimulatedInstance({
      cluster: this.#cluster,
      clock: this.#clock,
      topology: counting(() => this.#onRecord()),
      config: {
        'application.id': APPLICATION,
        'processing.guarantee': this.#guarantee,
        'dsl.store.suppliers.class': 'inMemory',
        'statestore.cache.max.bytes': 0,
        'commit.interval.ms': COMMIT_INTERVAL_MS,
        'delete.interval.ms': DELETE_INTERVAL_MS,
      },
      random: seededRandom(slot.seed),
      network: (moment, clock) => this.#network(instance, moment, clock),
    });
    slot.instance = instance;
    instance.streams.start().catch((error: unknown) => {
      this.faults.push(`could not start: ${String(error)}`);
    });
  }

  #stop(): void {
    const instance = this.#any();
    if (instance === null) return;
    this.#stopping.push(
      instance.stop().then(() => {
        this.#timeOutTransactions(instance);
      }),
    );
  }

  #kill(): void {
    const instance = this.#any();
    if (instance !== null) this.#killInstance(instance);
  }

  #killInstance(instance: SimulatedInstance): void {
    if (instance.isKilled) return;
    instance.kill();
    const group = this.#cluster.group(APPLICATION);
    for (const { memberId } of instance.client.simulatedMembers) {
      this.#clock.setTimer(SESSION_TIMEOUT_MS, () => {
        group.remove(memberId);
      });
    }
    this.#timeOutTransactions(instance);
  }

  /** What it has left open; whoever is started in the same place ends it earlier. */
  #timeOutTransactions({ client }: SimulatedInstance): void {
    for (const producer of client.transactionalProducers) {
      this.#clock.setTimer(TRANSACTION_TIMEOUT_MS, () => {
        producer.timeOut();
      });
    }
  }

  #expel(): void {
    const member = this.#any()?.client.simulatedMembers.at(-1);
    if (member === undefined) return;
    void this.#cluster.group(APPLICATION).expire(member.memberId);
  }

  /** Before a record is counted; also asynchronous, and both may fail. */
  #onRecord(): Promise<void> | undefined {
    if (!this.#isTroubled) return undefined;
    const dice = this.#random();
    if (dice < RECORD_FAILURE_RATE) throw new TimeoutError('somebody else is slow');
    if (dice > ASYNCHRONOUS_RATE) return undefined;
    return new Promise((resolve, reject) => {
      this.#clock.setTimer(this.#random() * LATENCY_MAX_MS, () => {
        if (dice < 2 * RECORD_FAILURE_RATE) reject(new TimeoutError('somebody else is slow'));
        else resolve();
      });
    });
  }

  async #network(instance: SimulatedInstance, moment: Moment, clock: Clock): Promise<void> {
    if (moment === this.#killAt) {
      this.#killAt = null;
      this.killedAt.add(moment);
      this.#killInstance(instance);
    }
    const latencyMs = this.#random() * LATENCY_MAX_MS;
    await new Promise<void>((resolve) => {
      clock.setTimer(latencyMs, resolve);
    });
    if (this.#isTroubled && this.#random() < FAILURE_RATE) {
      throw new TimeoutError(`no answer (${moment})`);
    }
  }

  // --------------------------------------------------------------------------------------- checks

  #checkPurge(): void {
    const { offsets } = this.#cluster.group(APPLICATION);
    for (const { topic, partition, offset } of this.#cluster.deleteRequests.at(-1) ?? []) {
      const committed = offsets.get(`${topic}-${String(partition)}`)?.offset ?? 0n;
      if (topic !== REPARTITION) this.faults.push(`${topic} was purged`);
      if (offset > committed) {
        this.faults.push(
          `${topic}-${String(partition)} was purged to ${String(offset)}, committed is ${String(committed)}`,
        );
      }
    }
  }

  #check(): void {
    const states = this.#alive().map(({ streams }) => streams.state);
    if (states.some((state) => state !== 'RUNNING')) this.faults.push(`ended in ${states.join()}`);
    const isOnce = this.#guarantee === 'exactly_once_v2';
    const out = new Map<string, number[]>();
    for (const { key, value } of this.#cluster.log('out').committedRecords()) {
      const word = String(key);
      out.set(word, [...(out.get(word) ?? []), countOf(value)]);
    }
    const last = new Map<string, number>();
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (const { key, value } of this.#cluster.log(CHANGELOG, partition).committedRecords()) {
        last.set(String(key), countOf(value));
      }
    }
    for (const [word, count] of this.#written) {
      const counts = out.get(word) ?? [];
      const stored = last.get(word) ?? 0;
      const expected = Array.from({ length: count }, (_, i) => i + 1).join();
      if (isOnce && counts.join() !== expected) {
        this.faults.push(`${word} was counted ${counts.join()}, written ${String(count)} times`);
      }
      if (isOnce ? stored !== count : stored < count) {
        this.faults.push(`${word} is ${String(stored)} in the changelog, not ${String(count)}`);
      }
      if (!isOnce && Math.max(0, ...counts) < count) {
        this.faults.push(`${word} came to ${counts.join()} only, written ${String(count)} times`);
      }
    }
    const { offsets } = this.#cluster.group(APPLICATION);
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const end = this.#cluster.log('in', partition).endOffset;
      const committed = offsets.get(`in-${String(partition)}`)?.offset ?? 0n;
      if (committed !== end) this.faults.push(`in-${String(partition)} is at ${String(committed)}`);
    }
  }

  // ---------------------------------------------------------------------------------------- dice

  #alive(): SimulatedInstance[] {
    return this.#slots.flatMap(({ instance }) =>
      instance !== null && isAlive(instance) ? [instance] : [],
    );
  }

  #any(): SimulatedInstance | null {
    const alive = this.#alive();
    return alive.length === 0 ? null : this.#pick(alive);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }
}

const MOMENTS: readonly Moment[] = [
  'flush',
  'offsets',
  'end',
  'ended',
  'init',
  'abort',
  'aborted',
  'flushed',
  'group commit',
  'group committed',
  'look-up',
  'leave',
  'purge',
  'purged',
];

function isAlive({ isKilled, streams }: SimulatedInstance): boolean {
  return !isKilled && !['PENDING_SHUTDOWN', 'NOT_RUNNING', 'ERROR'].includes(streams.state);
}

function countOf(value: Uint8Array | null): number {
  return value === null ? 0 : Number(Buffer.from(value).readBigInt64BE());
}

function counting(onRecord: () => Promise<void> | undefined): Topology {
  const text = serdes.string();
  const builder = new StreamsBuilder();
  builder
    .stream('in', { key: text, value: text })
    .selectKey((_key, value) => value)
    .peek(onRecord)
    .groupByKey({ key: text, value: text, name: 'words' })
    .count({ store: 'counts' })
    .toStream()
    .peek(onRecord)
    .to('out', { key: text, value: serdes.long() });
  return builder.build();
}
