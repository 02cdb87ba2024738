import { describe, expect, it } from 'vitest';
import { RequestMemory, type PartialRequest } from './request-memory.ts';

class Arriving implements PartialRequest {
  resumedCount = 0;

  resume(): void {
    this.resumedCount++;
  }
}

describe('the memory of requests', () => {
  it('lets everyone go on below its bound, and one beyond it', () => {
    const memory = new RequestMemory(100);
    const [a, b, c] = [new Arriving(), new Arriving(), new Arriving()];
    memory.change(60);
    expect(memory.mustWait(a)).toBe(false);
    memory.change(60);
    expect(memory.isFull).toBe(true);
    expect([a, b, c].map((one) => memory.mustWait(one))).toEqual([false, true, true]);
    expect(memory.heldUpBy).toBe(a);
    expect(memory.mustWait(a)).toBe(false);

    memory.leave(a);
    expect([a, b, c].map(({ resumedCount }) => resumedCount)).toEqual([0, 1, 0]);
    expect(memory.heldUpBy).toBe(b);
    expect(memory.mustWait(b)).toBe(false);

    memory.change(-30);
    expect(c.resumedCount).toBe(1);
    expect(memory.heldUpBy).toBe(null);
  });

  it('forgets who is gone', () => {
    const memory = new RequestMemory(1);
    const [a, b, c] = [new Arriving(), new Arriving(), new Arriving()];
    memory.change(5);
    expect([a, b, c].map((one) => memory.mustWait(one))).toEqual([false, true, true]);
    memory.leave(b);
    memory.leave(a);
    memory.leave(c);
    memory.change(-5);
    expect([a, b, c].map(({ resumedCount }) => resumedCount)).toEqual([0, 0, 1]);
    expect(memory.usedBytes).toBe(0);
  });
});
