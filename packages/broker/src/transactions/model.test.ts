/**
 * Producers that begin, write, commit, abort, take over from each other and die at random, on a broker
 * that is killed at random, held against what must then be seen: of every transaction all or nothing,
 * what was answered, and the offsets of the same transactions.
 */
import { FakeClock, MemoryDisk } from '@millrace/compaction';
import { describe, expect, it } from 'vitest';
import { TransactionFixture, type TestProducer } from './test-support/transaction-fixture.ts';

const SEEDS = 12;
const STEPS = 250;
const TIMEOUT_MS = 30_000;
const PRODUCERS = 3;
const places = [
  ['a', 0],
  ['a', 1],
  ['b', 0],
  ['b', 1],
] as const;

interface ModelTransaction {
  readonly id: number;
  readonly owner: number;
  /** Values by place, in order. */
  readonly values: string[][];
  commitsOffset: boolean;
  /** 'unknown': the broker died while it was asked to commit. */
  outcome: 'open' | 'committed' | 'aborted' | 'unknown';
}

interface ModelProducer {
  handle: TestProducer | null;
  current: ModelTransaction | null;
}

/** mulberry32 */
function seeded(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

class Run {
  readonly #random: (bound: number) => number;
  readonly #transactions: ModelTransaction[] = [];
  readonly #producers: ModelProducer[] = Array.from({ length: PRODUCERS }, () => ({
    handle: null,
    current: null,
  }));
  #disk = new MemoryDisk();
  #clock = new FakeClock();
  #broker!: TransactionFixture;
  kills = 0;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  get committedCount(): number {
    return this.#transactions.filter(({ outcome }) => outcome === 'committed').length;
  }

  async play(): Promise<void> {
    this.#broker = await TransactionFixture.open(this.#disk, this.#clock);
    await this.#broker.createTopic('a', 2);
    await this.#broker.createTopic('b', 2);
    for (let step = 0; step < STEPS; step++) {
      const what = this.#random(100);
      if (what === 0) await this.#settleAndCheck();
      else if (what < 3) this.#disk.killAt(this.#disk.operationCount + 1 + this.#random(25));
      else if (what < 6) await this.#timePasses();
      else await this.#act(this.#random(PRODUCERS));
      if (this.#disk.isKilled) await this.#restart();
    }
    if (this.#disk.isKilled) await this.#restart();
    this.#disk.onOperation = null;
    await this.#settleAndCheck();
    await this.#broker.close();
  }

  async #act(owner: number): Promise<void> {
    const producer = this.#producers[owner] as ModelProducer;
    const { handle } = producer;
    const what = this.#random(20);
    if (handle === null || what === 0) {
      // A successor, or the same one that starts anew: nobody can commit what was open before.
      this.#abandon(producer);
      producer.handle = await this.#attempt(() =>
        this.#broker.init(`producer-${owner}`, TIMEOUT_MS),
      );
      return;
    }
    if (what < 13) await this.#write(owner, producer, handle);
    else if (producer.current !== null) await this.#end(producer, handle, what < 18);
  }

  async #write(owner: number, producer: ModelProducer, handle: TestProducer): Promise<void> {
    if (producer.current === null) {
      producer.current = {
        id: this.#transactions.length,
        owner,
        values: places.map(() => []),
        commitsOffset: false,
        outcome: 'open',
      };
      this.#transactions.push(producer.current);
    }
    const { current } = producer;
    const place = this.#random(places.length + 1);
    const target = places[place];
    let result: string | null;
    if (target === undefined) {
      result = await this.#attempt(() =>
        this.#broker.commitOffset(handle, `group-${owner}`, 'a', BigInt(current.id)),
      );
      if (result === 'NONE') current.commitsOffset = true;
    } else {
      const [topic, partition] = target;
      const value = `${current.id}/${current.values.flat().length}`;
      result = await this.#attempt(async () => {
        const added = await this.#broker.add(handle, topic, partition);
        return added === 'NONE' ? this.#broker.send(handle, topic, partition, value) : added;
      });
      if (result === 'NONE') current.values[place]?.push(value);
    }
    if (result !== 'NONE') this.#abandon(producer);
  }

  async #end(producer: ModelProducer, handle: TestProducer, isCommit: boolean): Promise<void> {
    const { current } = producer;
    if (current === null) return;
    const result = await this.#attempt(() => this.#broker.end(handle, isCommit));
    producer.current = null;
    if (isCommit && result === 'NONE') current.outcome = 'committed';
    else if (isCommit && this.#disk.isKilled) current.outcome = 'unknown';
    else current.outcome = 'aborted';
    if (result !== 'NONE') producer.handle = null;
  }

  #abandon(producer: ModelProducer): void {
    if (producer.current !== null) producer.current.outcome = 'aborted';
    producer.current = null;
    producer.handle = null;
  }

  /** null: the broker died under it. */
  async #attempt<T>(action: () => Promise<T>): Promise<T | null> {
    try {
      const result = await action();
      return this.#disk.isKilled ? null : result;
    } catch (error) {
      if (this.#disk.isKilled) return null;
      throw error;
    }
  }

  async #timePasses(): Promise<void> {
    this.#clock.advance(this.#random(TIMEOUT_MS));
    await this.#attempt(() => this.#broker.transactions.abortTimedOut());
  }

  async #restart(): Promise<void> {
    this.kills += 1;
    await this.#broker.transactions.close();
    this.#broker.groups.close();
    this.#disk = this.#disk.afterKill();
    this.#clock = new FakeClock(this.#clock.now());
    this.#broker = await TransactionFixture.open(this.#disk, this.#clock);
  }

  /** Every open transaction runs into its timeout; then everything that is committed can be seen. */
  async #settleAndCheck(): Promise<void> {
    this.#disk.onOperation = null;
    this.#clock.advance(TIMEOUT_MS + 1);
    await this.#broker.transactions.abortTimedOut();
    for (const producer of this.#producers) {
      if (producer.current !== null) this.#abandon(producer);
    }
    const seen = places.map(([topic, partition]) => this.#broker.committed(topic, partition));
    for (const transaction of this.#transactions) {
      if (transaction.outcome === 'unknown') {
        const all = transaction.values.flat();
        const isSeen = all.length > 0 && seen.some((values) => values.includes(all[0] as string));
        const hasOffset =
          transaction.commitsOffset &&
          this.#broker.offset(`group-${transaction.owner}`, 'a') === BigInt(transaction.id);
        transaction.outcome = isSeen || hasOffset ? 'committed' : 'aborted';
      }
    }
    const committed = this.#transactions.filter(({ outcome }) => outcome === 'committed');
    for (const [place, [topic, partition]] of places.entries()) {
      const expected = new Set(committed.flatMap(({ values }) => values[place] ?? []));
      expect(new Set(seen[place]), `${topic}-${partition}`).toEqual(expected);
      expect(seen[place]).toHaveLength(expected.size);
      expect(this.#broker.hasOpenTransaction(topic, partition)).toBe(false);
      for (const { values } of committed) {
        const own = values[place] ?? [];
        expect(seen[place]?.filter((value) => own.includes(value))).toEqual(own);
      }
    }
    for (let owner = 0; owner < PRODUCERS; owner++) {
      const last = committed.findLast((one) => one.owner === owner && one.commitsOffset);
      expect(this.#broker.offset(`group-${owner}`, 'a')).toBe(
        last === undefined ? -1n : BigInt(last.id),
      );
    }
  }
}

describe('transactions at random', () => {
  it.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
    'are whole with seed %i',
    async (seed) => {
      const run = new Run(seed);
      await run.play();
      expect(run.committedCount).toBeGreaterThan(5);
    },
  );

  it('are killed now and then', async () => {
    const run = new Run(1_000);
    await run.play();
    expect(run.kills).toBeGreaterThan(0);
  });
});
