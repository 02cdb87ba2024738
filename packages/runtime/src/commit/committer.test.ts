import { describe, expect, it } from 'vitest';
import { RebalanceInProgressError } from '../errors.ts';
import { silentLogger } from '../logging/logger.ts';
import { FakeClock, settle } from '../testing-support/fake-clock.ts';
import type { OffsetsToCommit } from '../client/ports.ts';
import type { CommittableTask } from './committer.ts';
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
  const deadLetters = {
    writtenCount: 0,
    finish: () => {
      if (deadLetters.writtenCount > 0) events.push('dead letters');
      return undefined;
    },
  };
  const committer = new Committer({
    output: { producer: { flush }, deadLetters, commit },
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
    deadLetters,
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

  it('flushes again what was not delivered and became a dead letter', async () => {
    const { committer, events, task, deadLetters } = setUp();
    const commit = committer.commit([task('a')], { purge: false });
    await Promise.resolve();
    deadLetters.writtenCount = 1;
    expect(await commit).toBe(true);
    expect(events.slice(0, 4)).toEqual(['prepare a', 'flush', 'dead letters', 'flush']);
  });
});
