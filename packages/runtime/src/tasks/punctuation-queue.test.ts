import { describe, expect, it } from 'vitest';
import { PunctuationQueue } from './punctuation-queue.ts';

const node = { name: 'p' };

/** Runs everything that is due at these times; what was called when. */
function run(queue: PunctuationQueue, ...times: number[]): string[] {
  const calls: string[] = [];
  for (const now of times) {
    for (let due = queue.takeDue(now); due !== null; due = queue.takeDue(now)) {
      void due.punctuate(now);
      calls.push(`${due.node.name}@${String(now)}`);
      queue.reschedule(due, now);
    }
  }
  return calls;
}

describe('punctuation queue', () => {
  it('keeps to its grid, and makes one call of the ticks that were missed', () => {
    const queue = new PunctuationQueue();
    queue.schedule(node, 0, 10, () => undefined);
    expect(run(queue, 5, 9, 10, 11, 35, 39, 40, 1046, 1049, 1050)).toEqual([
      'p@5',
      'p@10',
      'p@35',
      'p@40',
      'p@1046',
      'p@1050',
    ]);
    expect(queue.nextMs).toBe(1060);
  });

  it('has nothing due before a start that is still to come', () => {
    const queue = new PunctuationQueue();
    queue.schedule(node, 2_000, 10, () => undefined);
    expect(run(queue, 1_005, 1_999, 2_000, 2_005, 2_010)).toEqual(['p@2000', 'p@2010']);
  });

  it('drops what is cancelled, also from within the call', () => {
    const queue = new PunctuationQueue();
    const other = queue.schedule({ name: 'q' }, 0, 10, () => undefined);
    const own = queue.schedule(node, 0, 10, () => {
      own.cancel();
      other.cancel();
      return undefined;
    });
    expect(run(queue, 5, 15, 25)).toEqual(['q@5', 'p@5']);
    expect(queue.nextMs).toBe(Infinity);
    expect(queue.takeDue(Infinity)).toBe(null);
  });

  it('takes the earliest first, whatever the order of scheduling', () => {
    const queue = new PunctuationQueue();
    const due = [7, 3, 9, 1, 8, 2, 6, 4, 5, 0];
    for (const dueMs of due) queue.schedule({ name: String(dueMs) }, dueMs, 100, () => undefined);
    expect(run(queue, 50)).toEqual([...due].sort().map((dueMs) => `${String(dueMs)}@50`));
    expect(run(queue, 104)).toEqual(['0@104', '1@104', '2@104', '3@104', '4@104']);
  });

  it('survives a clock that goes back', () => {
    const queue = new PunctuationQueue();
    queue.schedule(node, 100, 10, () => undefined);
    expect(run(queue, 105, 50, 109, 110)).toEqual(['p@105', 'p@110']);
  });
});
