import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TimeOrderedQueue, type Queued } from './time-ordered-queue.ts';

class Entry implements Queued {
  readonly id: string;
  readonly time: number;
  queueIndex = -1;

  constructor(id: string, time: number) {
    this.id = id;
    this.time = time;
  }
}

const byTime = (a: Entry, b: Entry): number => a.time - b.time || (a.id < b.id ? -1 : 1);

describe('time-ordered queue', () => {
  it('gives entries in the order of time, then id, whatever is added and removed', () => {
    const step = fc.record({
      id: fc.stringMatching(/^[a-c\u00ff]{1,2}$/),
      time: fc.integer({ min: 0, max: 5 }),
      removes: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new TimeOrderedQueue<Entry>();
        const model = new Map<string, Entry>();
        for (const { id, time, removes } of steps) {
          const kept = queue.get(id);
          expect(kept).toBe(model.get(id));
          if (removes && kept !== undefined) {
            queue.remove(kept);
            model.delete(id);
          } else if (kept === undefined) {
            const entry = new Entry(id, time);
            queue.add(entry);
            model.set(id, entry);
          }
          expect(queue.size).toBe(model.size);
          expect(queue.first).toBe([...model.values()].sort(byTime)[0]);
        }
        const drained: Entry[] = [];
        for (let first = queue.first; first !== undefined; first = queue.first) {
          queue.remove(first);
          drained.push(first);
        }
        expect(drained).toEqual([...model.values()].sort(byTime));
      }),
    );
  });
});
