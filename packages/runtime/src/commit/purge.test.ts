import { describe, expect, it } from 'vitest';
import type { AdminPort, TopicPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { silentLogger } from '../logging/logger.ts';
import { FakeClock, settle } from '../testing-support/fake-clock.ts';
import { Purger } from './purge.ts';

const INTERVAL_MS = 30_000;

type Offset = TopicPartition & { readonly offset: bigint };

function setUp(intervalMs = INTERVAL_MS) {
  const clock = new FakeClock();
  const requests: (readonly Offset[])[] = [];
  let answer: (offsets: readonly Offset[]) => Promise<ReadonlyMap<string, bigint | Error>> = (
    offsets,
  ) =>
    Promise.resolve(
      new Map(offsets.map((o) => [topicPartitionKey(o.topic, o.partition), o.offset])),
    );
  const admin = {
    deleteRecords: (offsets: readonly Offset[]) => {
      requests.push(offsets);
      return answer(offsets);
    },
  } as unknown as AdminPort;
  const purger = new Purger({
    admin,
    clock,
    logger: silentLogger(),
    intervalMs,
    onSettled: () => undefined,
  });
  const commit = (offset: bigint, partition = 0): boolean => {
    purger.committed([{ topic: 'r', partition, offset }]);
    return purger.maybePurge();
  };
  return {
    clock,
    requests,
    purger,
    commit,
    answerWith: (next: typeof answer) => {
      answer = next;
    },
  };
}

describe('Purger', () => {
  it('purges up to the committed offset, right after a commit, once the interval has passed', async () => {
    const { clock, requests, commit } = setUp();
    await clock.advance(INTERVAL_MS);
    expect(commit(60n)).toBe(true);
    expect(requests).toEqual([[{ topic: 'r', partition: 0, offset: 60n }]]);
  });

  it('counts the interval from the start', async () => {
    const { clock, requests, commit } = setUp();
    await clock.advance(INTERVAL_MS - 1);
    expect(commit(60n)).toBe(false);
    expect(requests).toEqual([]);
    await clock.advance(1);
    expect(commit(61n)).toBe(true);
  });

  it('does nothing before a commit, however much time passes', async () => {
    const { clock, requests, purger } = setUp();
    await clock.advance(10 * INTERVAL_MS);
    expect(purger.maybePurge()).toBe(false);
    expect(purger.nextDueMs).toBe(Infinity);
    expect(requests).toEqual([]);
  });

  it('sends one request per interval, however often commits come', async () => {
    const { clock, requests, commit } = setUp();
    for (let i = 1; i <= 1_000; i++) {
      await Promise.resolve();
      clock.setTimer(0, () => undefined);
      commit(BigInt(i));
      if (i % 300 === 0) await clock.advance(INTERVAL_MS);
    }
    await settle();
    expect(requests).toHaveLength(3);
    expect(requests.map((r) => (r[0] as Offset).offset)).toEqual([301n, 601n, 901n]);
  });

  it('is bounded below by the commit interval: with an interval of 0 each commit purges', async () => {
    const { requests, commit } = setUp(0);
    commit(1n);
    await settle();
    commit(2n);
    await settle();
    expect(requests).toHaveLength(2);
  });

  it('has one request in flight, and makes up for the purge it could not send', async () => {
    const { clock, requests, commit, purger, answerWith } = setUp();
    let release: () => void = () => undefined;
    answerWith(
      (offsets) =>
        new Promise((resolve) => {
          release = () => {
            resolve(
              new Map(offsets.map((o) => [topicPartitionKey(o.topic, o.partition), o.offset])),
            );
          };
        }),
    );
    await clock.advance(INTERVAL_MS);
    commit(10n);
    await clock.advance(INTERVAL_MS);
    expect(commit(20n)).toBe(false);
    expect(requests).toHaveLength(1);
    release();
    await settle();
    // No commit comes any more, as there is no input; what is committed is still purged.
    expect(purger.maybePurge()).toBe(true);
    expect(requests[1]).toEqual([{ topic: 'r', partition: 0, offset: 20n }]);
  });

  it('tries again after a failure, next time', async () => {
    const { clock, requests, commit, purger, answerWith } = setUp();
    answerWith(() => Promise.reject(new Error('not now')));
    await clock.advance(INTERVAL_MS);
    commit(10n);
    await settle();
    expect(purger.failureCount).toBe(1);
    expect(purger.maybePurge()).toBe(false);
    await clock.advance(INTERVAL_MS);
    expect(purger.maybePurge()).toBe(true);
    expect(requests).toHaveLength(2);
  });

  it('lets one partition fail without the others', async () => {
    const { clock, requests, purger, answerWith } = setUp();
    answerWith(() =>
      Promise.resolve(
        new Map<string, bigint | Error>([
          ['r-0', new Error('no leader')],
          ['r-1', 5n],
        ]),
      ),
    );
    await clock.advance(INTERVAL_MS);
    purger.committed([
      { topic: 'r', partition: 0, offset: 5n },
      { topic: 'r', partition: 1, offset: 5n },
    ]);
    purger.maybePurge();
    await clock.advance(INTERVAL_MS);
    purger.maybePurge();
    expect(requests[1]).toEqual([{ topic: 'r', partition: 0, offset: 5n }]);
  });

  it('drops what an older generation has committed', async () => {
    const { clock, requests, commit, purger } = setUp();
    commit(10n);
    purger.newGeneration();
    await clock.advance(INTERVAL_MS);
    expect(purger.maybePurge()).toBe(false);
    expect(commit(12n)).toBe(true);
    expect(requests).toEqual([[{ topic: 'r', partition: 0, offset: 12n }]]);
  });

  it('does not take up again what fails after the generation is over', async () => {
    const { clock, requests, commit, purger, answerWith } = setUp();
    let fail: () => void = () => undefined;
    answerWith(
      () =>
        new Promise((_, reject) => {
          fail = () => {
            reject(new Error('gone'));
          };
        }),
    );
    await clock.advance(INTERVAL_MS);
    commit(10n);
    purger.newGeneration();
    fail();
    await clock.advance(INTERVAL_MS);
    expect(purger.maybePurge()).toBe(false);
    expect(requests).toHaveLength(1);
  });

  it('never asks for "everything": offsets of 0 and below are left out', async () => {
    const { clock, requests, commit } = setUp();
    await clock.advance(INTERVAL_MS);
    expect(commit(0n)).toBe(false);
    expect(commit(-1n)).toBe(false);
    expect(requests).toEqual([]);
  });

  it('asks for nothing twice', async () => {
    const { clock, requests, commit } = setUp();
    await clock.advance(INTERVAL_MS);
    commit(10n);
    await clock.advance(INTERVAL_MS);
    expect(commit(10n)).toBe(false);
    expect(requests).toHaveLength(1);
  });

  it('tells what is committed and not deleted yet, and for how long', async () => {
    const { clock, purger, answerWith } = setUp();
    const lag = (): unknown => [purger.lagRecords, purger.lagMs];
    expect(lag()).toEqual([0n, 0]);
    await clock.advance(1_000);
    purger.committed([
      { topic: 'r', partition: 0, offset: 10n },
      // Another instance has read the first ones.
      { topic: 'r', partition: 1, offset: 120n, startOffset: 100n },
    ]);
    await clock.advance(INTERVAL_MS - 1_000);
    expect(lag()).toEqual([30n, INTERVAL_MS - 1_000]);
    answerWith(() => Promise.reject(new Error('not now')));
    purger.maybePurge();
    await settle();
    expect(lag()).toEqual([30n, INTERVAL_MS - 1_000]);

    answerWith((offsets) => {
      // Committed while the purge is under way.
      purger.committed([{ topic: 'r', partition: 0, offset: 15n }]);
      return Promise.resolve(
        new Map(offsets.map((o) => [topicPartitionKey(o.topic, o.partition), o.offset])),
      );
    });
    await clock.advance(INTERVAL_MS);
    purger.maybePurge();
    await clock.advance(500);
    expect(lag()).toEqual([5n, 500]);
    purger.newGeneration();
    expect(lag()).toEqual([0n, 0]);
  });
});
