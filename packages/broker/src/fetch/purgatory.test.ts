import { FakeClock } from '@millrace/compaction';
import { beforeEach, describe, expect, it } from 'vitest';
import { FetchPurgatory, type ParkedFetch } from './purgatory.ts';

const a = { name: 'a' };
const b = { name: 'b' };

class Fetch implements ParkedFetch {
  readonly partitions: readonly object[];
  readonly maxWaitMs = 500;
  isReady = false;
  checks = 0;
  completed = 0;

  constructor(...partitions: object[]) {
    this.partitions = partitions;
  }

  tryComplete(): boolean {
    this.checks++;
    if (this.isReady) this.completed++;
    return this.isReady;
  }

  complete(): void {
    this.completed++;
  }
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('FetchPurgatory', () => {
  let clock: FakeClock;
  let purgatory: FetchPurgatory;

  beforeEach(() => {
    clock = new FakeClock();
    purgatory = new FetchPurgatory(clock);
  });

  it('answers when its time is up, once', async () => {
    const fetch = new Fetch(a, b);
    purgatory.park(fetch);
    clock.advance(499);
    expect(fetch.completed).toBe(0);
    clock.advance(1);
    expect(fetch.completed).toBe(1);
    purgatory.wake(a);
    await endOfTurn();
    clock.advance(10_000);
    expect(fetch).toMatchObject({ completed: 1, checks: 0 });
    expect(purgatory.parkedCount).toBe(0);
    expect(clock.timerCount).toBe(0);
  });

  it('looks once for all appends of a turn', async () => {
    const fetch = new Fetch(a, b);
    purgatory.park(fetch);
    purgatory.wake(a);
    purgatory.wake(a);
    purgatory.wake(b);
    expect(fetch.checks).toBe(0);
    await endOfTurn();
    expect(fetch).toMatchObject({ checks: 1, completed: 0 });
    fetch.isReady = true;
    purgatory.wake(b);
    await endOfTurn();
    expect(fetch).toMatchObject({ checks: 2, completed: 1 });
    expect(purgatory.parkedCount).toBe(0);
    expect(clock.timerCount).toBe(0);
  });

  it('leaves those alone who wait for other partitions', async () => {
    const fetch = new Fetch(a);
    purgatory.park(fetch);
    purgatory.wake(b);
    await endOfTurn();
    expect(fetch.checks).toBe(0);
    purgatory.close();
  });

  it('answers at once when the partition is gone', () => {
    const fetch = new Fetch(a, b);
    purgatory.park(fetch);
    purgatory.partitionGone(b);
    expect(fetch.completed).toBe(1);
    expect(purgatory.parkedCount).toBe(0);
  });

  it('forgets a fetch whose connection is gone', () => {
    const fetch = new Fetch(a);
    const release = purgatory.park(fetch);
    release();
    release();
    clock.advance(1000);
    expect(fetch.completed).toBe(0);
    expect(purgatory.parkedCount).toBe(0);
    expect(clock.timerCount).toBe(0);
  });

  it('answers everyone when it closes, and whoever comes later', () => {
    const early = new Fetch(a);
    purgatory.park(early);
    purgatory.close();
    expect(early.completed).toBe(1);
    const late = new Fetch(a);
    purgatory.park(late);
    expect(late.completed).toBe(1);
    expect(clock.timerCount).toBe(0);
  });
});
