import { describe, expect, it } from 'vitest';
import { PartitionGroup } from './partition-group.ts';
import type { RecordQueue } from './record-queue.ts';

/** Only what the group looks at. */
interface Head {
  name: string;
  times: number[];
  hasHead: boolean;
  headTimestamp: number;
  headOrder: number;
  offeredOrder: number;
  fetchedLag: bigint | null;
  extraction: Promise<void> | null;
}

let headCount = 0;

function queue(name: string, times: number[], fetchedLag: bigint | null = 0n): Head {
  return {
    name,
    times: times.slice(1),
    hasHead: times.length > 0,
    headTimestamp: times[0] ?? -1,
    headOrder: headCount++,
    offeredOrder: -1,
    fetchedLag,
    extraction: null,
  };
}

/** The queue was empty, or is somewhere else now. */
function gets(one: Head, headTimestamp: number): void {
  Object.assign(one, { hasHead: true, headTimestamp, headOrder: headCount++ });
}

function group(maxTaskIdleMs: number, ...queues: Head[]): PartitionGroup {
  return new PartitionGroup(queues as unknown as RecordQueue[], maxTaskIdleMs);
}

function take(from: PartitionGroup, nowMs = 0): string | null {
  const chosen = from.select(nowMs) as unknown as Head | null;
  if (chosen === null) return null;
  const taken = `${chosen.name}${String(chosen.headTimestamp)}`;
  const next = chosen.times.shift();
  chosen.hasHead = next !== undefined;
  chosen.headTimestamp = next ?? -1;
  if (chosen.hasHead) chosen.headOrder = headCount++;
  return taken;
}

function takeAll(from: PartitionGroup): string[] {
  const taken: string[] = [];
  for (let next = take(from); next !== null; next = take(from)) taken.push(next);
  return taken;
}

describe('PartitionGroup', () => {
  it('takes the lowest head timestamp first, across partitions', () => {
    const both = group(0, queue('a', [1, 4, 5, 9]), queue('b', [2, 3, 7, 8]));
    expect(takeAll(both)).toEqual(['a1', 'b2', 'b3', 'a4', 'a5', 'b7', 'b8', 'a9']);
  });

  it('takes the order within a partition as it is, whatever its timestamps', () => {
    expect(takeAll(group(0, queue('a', [5, 1, 3]), queue('b', [2, 4])))).toEqual([
      'b2',
      'b4',
      'a5',
      'a1',
      'a3',
    ]);
  });

  it('chooses anew when a queue got an earlier record', () => {
    const a = queue('a', [10, 20]);
    const b = queue('b', []);
    const both = group(0, a, b);
    expect(take(both)).toBe('a10');
    gets(b, 15);
    both.changed();
    expect(takeAll(both)).toEqual(['b15', 'a20']);
  });

  it("takes turns among equal timestamps as Java's PriorityQueue has it", () => {
    expect(takeAll(group(-1, queue('a', [1, 1]), queue('b', [1, 1])))).toEqual([
      'a1',
      'b1',
      'a1',
      'b1',
    ]);
    // Not in the order in which they came: the last one takes the place of the first.
    const three = group(-1, queue('a', [1]), queue('b', [1]), queue('c', [1]));
    expect(takeAll(three)).toEqual(['a1', 'c1', 'b1']);
  });

  it('offers heads in the order in which they came', () => {
    const a = queue('a', []);
    const b = queue('b', []);
    const both = group(-1, a, b);
    gets(b, 3);
    gets(a, 3);
    expect(takeAll(both)).toEqual(['b3', 'a3']);
  });

  it('forgets a head when its queue is moved elsewhere', () => {
    const b = queue('b', [2]);
    const both = group(-1, queue('a', [1, 7]), b);
    expect(take(both)).toBe('a1');
    gets(b, 9);
    both.changed();
    expect(takeAll(both)).toEqual(['a7', 'b9']);
  });

  it('waits with max.task.idle.ms=0 while the lag of an empty partition is not known', () => {
    const b = queue('b', [], null);
    const both = group(0, queue('a', [1]), b);
    expect(take(both, 1_000_000)).toBe(null);
    b.fetchedLag = 0n;
    expect(take(both)).toBe('a1');
  });

  it('waits with 0 while an empty partition has more to fetch, and goes when it has not', () => {
    const b = queue('b', [], 5n);
    const both = group(0, queue('a', [1]), b);
    expect(take(both, 1_000_000)).toBe(null);
    b.fetchedLag = 0n;
    expect(take(both)).toBe('a1');
    expect(both.enforcedCount).toBe(1);
  });

  it.each([null, 5n])(
    'waits with a time above 0 for what is to be fetched (lag %s), however long it takes',
    (lag) => {
      const b = queue('b', [], lag);
      const both = group(100, queue('a', [1]), b);
      expect(take(both, 0)).toBe(null);
      expect(take(both, 1_000_000)).toBe(null);
      expect(both.nextDeadlineMs(1_000_000)).toBe(Infinity);
      // Only from here on is it known to be empty.
      b.fetchedLag = 0n;
      expect(take(both, 1_000_000)).toBe(null);
      expect(take(both, 1_000_099)).toBe(null);
      expect(take(both, 1_000_100)).toBe('a1');
    },
  );

  it('looks at the lag of each partition: one that is to be fetched holds up those that may go', () => {
    const c = queue('c', [], 1n);
    const three = group(100, queue('a', [1]), queue('b', [], 0n), c);
    expect(take(three, 0)).toBe(null);
    expect(take(three, 500)).toBe(null);
    gets(c, 7);
    three.changed();
    // The wait for b is over already.
    expect(take(three, 500)).toBe('a1');
    expect(three.enforcedCount).toBe(1);
  });

  it('counts the wait from when a partition ran empty, even if nothing has any record', () => {
    const a = queue('a', []);
    const both = group(100, a, queue('b', []));
    expect(take(both, 0)).toBe(null);
    // Nothing waits for the end of that time.
    expect(both.nextDeadlineMs(0)).toBe(Infinity);
    gets(a, 1);
    both.changed();
    expect(take(both, 60)).toBe(null);
    expect(both.nextDeadlineMs(60)).toBe(100);
    expect(take(both, 100)).toBe('a1');
    // That it was waited for once is enough, until it has something again.
    gets(a, 2);
    both.changed();
    expect(take(both, 5_000)).toBe('a2');
  });

  it('counts each record that it lets go before an empty partition, however often it is asked', () => {
    const b = queue('b', [3], 0n);
    const both = group(0, queue('a', [1, 2, 4, 5]), b);
    expect([take(both), take(both), take(both)]).toEqual(['a1', 'a2', 'b3']);
    expect(both.enforcedCount).toBe(0);
    for (let i = 0; i < 3; i++) expect(both.select(0)).not.toBe(null);
    expect([take(both), take(both), take(both)]).toEqual(['a4', 'a5', null]);
    expect(both.enforcedCount).toBe(2);
    const never = group(-1, queue('a', [1, 2]), queue('b', []));
    expect(takeAll(never)).toEqual(['a1', 'a2']);
    expect(never.enforcedCount).toBe(0);
  });

  it.each([-1, 0, 100])('has nothing to choose with %s when nothing has data', (maxTaskIdleMs) => {
    const both = group(maxTaskIdleMs, queue('a', []), queue('b', []));
    expect(take(both, 0)).toBe(null);
    expect(take(both, 1_000)).toBe(null);
    expect(both.nextDeadlineMs(0)).toBe(Infinity);
    expect(both.enforcedCount).toBe(0);
  });

  it('never waits with -1', () => {
    expect(take(group(-1, queue('a', [1]), queue('b', [], 5n)))).toBe('a1');
    expect(take(group(-1, queue('a', [1]), queue('b', [], null)))).toBe('a1');
  });

  it('waits with a time above 0 for a partition that is caught up, then goes', () => {
    const both = group(100, queue('a', [1, 2]), queue('b', [], 0n));
    expect(take(both, 1_000)).toBe(null);
    expect(both.nextDeadlineMs(1_000)).toBe(1_100);
    // What is over is no reason to wake up again and again.
    expect(both.nextDeadlineMs(1_100)).toBe(Infinity);
    expect(take(both, 1_099)).toBe(null);
    expect(take(both, 1_100)).toBe('a1');
    expect(both.enforcedCount).toBe(1);
  });

  it('starts the wait anew once the partition had something', () => {
    const b = queue('b', [], 0n);
    const both = group(100, queue('a', [1, 5, 6]), b);
    expect(take(both, 0)).toBe(null);
    gets(b, 2);
    both.changed();
    expect(take(both, 50)).toBe('a1');
    expect(take(both, 50)).toBe('b2');
    expect(take(both, 100)).toBe(null);
    expect(take(both, 199)).toBe(null);
    expect(take(both, 200)).toBe('a5');
  });

  it('has nothing to choose without partitions', () => {
    expect(take(group(-1))).toBe(null);
  });

  it("takes nothing while the time of some partition's next record is not known yet", () => {
    const a = queue('a', [10]);
    const b = queue('b', []);
    b.extraction = Promise.resolve();
    const waiting = group(-1, a, b);
    expect(take(waiting)).toBe(null);
    b.extraction = null;
    gets(b, 5);
    expect(takeAll(waiting)).toEqual(['b5', 'a10']);
  });
});
