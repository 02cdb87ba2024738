import { describe, expect, it } from 'vitest';
import type { GroupPort, ProducerPort } from '../client/ports.ts';
import { ProductionError, RebalanceInProgressError } from '../errors.ts';
import { silentLogger } from '../logging/logger.ts';
import { FakeClock, settle } from '../testing-support/fake-clock.ts';
import type { CommittableTask, OffsetsToCommit } from './committer.ts';
import { Committer } from './committer.ts';
import type { Purger } from './purge.ts';

function setUp() {
  const events: string[] = [];
  const failures: { flush: Error[]; commit: Error[] } = { flush: [], commit: [] };
  const flush = async (): Promise<void> => {
    await Promise.resolve();
    events.push('flush');
    const failure = failures.flush.shift();
    if (failure !== undefined) throw failure;
  };
  const commit = async (offsets: OffsetsToCommit): Promise<void> => {
    await Promise.resolve();
    events.push(`offsets ${[...offsets].map(([k, o]) => `${k}@${String(o.offset)}`).join(' ')}`);
    const failure = failures.commit.shift();
    if (failure !== undefined) throw failure;
  };
  let handlerAnswer: 'fail' | 'continue' = 'fail';
  const committer = new Committer({
    group: { commit } as unknown as GroupPort,
    producer: { flush } as unknown as ProducerPort,
    purger: {
      committed: (offsets: Iterable<unknown>) => {
        events.push(`purgeable ${String([...offsets].length)}`);
      },
      maybePurge: () => {
        events.push('purge');
        return true;
      },
    } as unknown as Purger,
    clock: new FakeClock(),
    logger: silentLogger(),
    intervalMs: 100,
    onDeliveryFailure: () => handlerAnswer,
  });
  const task = (topic: string, isCommitNeeded = true): CommittableTask => ({
    isCommitNeeded,
    prepareCommit: () => {
      events.push(`prepare ${topic}`);
      return undefined;
    },
    offsetsToCommit: () =>
      new Map([[`${topic}-0`, { topic, partition: 0, offset: 5n, metadata: '' }]]),
    postCommit: () => {
      events.push(`post ${topic}`);
    },
    *purgeableOffsets() {
      yield { topic, partition: 0, offset: 5n };
    },
  });
  return {
    committer,
    events,
    failures,
    task,
    answer: (next: 'fail' | 'continue') => {
      handlerAnswer = next;
    },
  };
}

describe('Committer', () => {
  it('flushes, then commits offsets of all tasks together, then the stores, then purges', async () => {
    const { committer, events, task } = setUp();
    expect(await committer.commit([task('a'), task('b')], { purge: true })).toBe(true);
    expect(events).toEqual([
      'prepare a',
      'prepare b',
      'flush',
      'offsets a-0@5 b-0@5',
      'post a',
      'purgeable 1',
      'post b',
      'purgeable 1',
      'purge',
    ]);
    expect(committer.commitCount).toBe(1);
  });

  it('leaves out tasks that need no commit, and sends nothing if none does', async () => {
    const { committer, events, task } = setUp();
    expect(await committer.commit([task('a', false)], { purge: true })).toBe(false);
    expect(events).toEqual(['purge']);
    expect(committer.commitCount).toBe(0);
  });

  it('does not purge on the way out', async () => {
    const { committer, events, task } = setUp();
    await committer.commit([task('a')], { purge: false });
    expect(events).not.toContain('purge');
  });

  it('commits no offset when the flush fails: what was not sent is done again', async () => {
    const { committer, events, failures, task } = setUp();
    failures.flush.push(new Error('no broker'));
    await expect(committer.commit([task('a')], { purge: true })).rejects.toThrow('no broker');
    expect(events).toEqual(['prepare a', 'flush']);
  });

  it('neither commits stores nor purges when the offsets are refused', async () => {
    const { committer, events, failures, task } = setUp();
    failures.commit.push(new RebalanceInProgressError('now'));
    await expect(committer.commit([task('a')], { purge: true })).rejects.toThrow(
      RebalanceInProgressError,
    );
    await settle();
    expect(events).toEqual(['prepare a', 'flush', 'offsets a-0@5']);
    expect(await committer.commit([task('a')], { purge: true })).toBe(true);
  });

  it("keeps the production handler's word on refused records", async () => {
    const { committer, events, failures, task, answer } = setUp();
    failures.flush.push(new ProductionError('too large'));
    await expect(committer.commit([task('a')], { purge: true })).rejects.toThrow('too large');
    failures.flush.push(new ProductionError('too large'));
    answer('continue');
    expect(await committer.commit([task('a')], { purge: true })).toBe(true);
    expect(events.filter((event) => event === 'flush')).toHaveLength(3);
  });
});
