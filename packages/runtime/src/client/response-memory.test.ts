import { describe, expect, it } from 'vitest';
import { RESPONSE_MEMORY_POOL_BYTES, RESPONSE_MEMORY_STEP_BYTES } from './limits.ts';
import { ResponseMemory, SharedMemory } from './response-memory.ts';

describe('ResponseMemory', () => {
  it('hands out again what came back, to whatever fits', () => {
    const pool = new ResponseMemory();
    const first = pool.take(RESPONSE_MEMORY_STEP_BYTES + 1);
    const second = pool.take(RESPONSE_MEMORY_STEP_BYTES + 1);
    expect(second.buffer).not.toBe(first.buffer);
    pool.give(first.buffer);
    const again = pool.take(2 * RESPONSE_MEMORY_STEP_BYTES);
    expect(again.buffer).toBe(first.buffer);
    expect(again.length).toBe(2 * RESPONSE_MEMORY_STEP_BYTES);
    expect(pool.take(RESPONSE_MEMORY_STEP_BYTES).buffer).not.toBe(first.buffer);
  });

  it('takes the smallest that fits', () => {
    const pool = new ResponseMemory();
    const large = pool.take(5 * RESPONSE_MEMORY_STEP_BYTES);
    const small = pool.take(2 * RESPONSE_MEMORY_STEP_BYTES);
    pool.give(large.buffer);
    pool.give(small.buffer);
    expect(pool.take(RESPONSE_MEMORY_STEP_BYTES).buffer).toBe(small.buffer);
    expect(pool.take(RESPONSE_MEMORY_STEP_BYTES).buffer).toBe(large.buffer);
  });

  it('takes nothing back twice, nor what is not its own, nor small responses', () => {
    const pool = new ResponseMemory();
    const one = pool.take(RESPONSE_MEMORY_STEP_BYTES);
    pool.give(one.buffer);
    pool.give(one.buffer);
    expect(pool.take(RESPONSE_MEMORY_STEP_BYTES).buffer).toBe(one.buffer);
    expect(pool.take(RESPONSE_MEMORY_STEP_BYTES).buffer).not.toBe(one.buffer);
    const foreign = Buffer.alloc(RESPONSE_MEMORY_STEP_BYTES);
    pool.give(foreign.buffer);
    expect(pool.take(RESPONSE_MEMORY_STEP_BYTES).buffer).not.toBe(foreign.buffer);
    const small = pool.take(100);
    pool.give(small.buffer);
    expect(pool.take(100).buffer).not.toBe(small.buffer);
  });

  it('keeps no more than its bound', () => {
    const pool = new ResponseMemory();
    const large = Array.from({ length: 3 }, () => pool.take(RESPONSE_MEMORY_POOL_BYTES / 2));
    for (const { buffer } of large) pool.give(buffer);
    const again = Array.from({ length: 3 }, () => pool.take(RESPONSE_MEMORY_POOL_BYTES / 2));
    const known = new Set(large.map(({ buffer }) => buffer));
    expect(again.filter(({ buffer }) => known.has(buffer))).toHaveLength(2);
  });
});

describe('SharedMemory', () => {
  it('goes back once all of its holders have released it', () => {
    const memory = new ArrayBuffer(1);
    const back: ArrayBufferLike[] = [];
    const shared = new SharedMemory(memory, (given) => back.push(given));
    shared.hold();
    shared.hold();
    shared.release();
    expect(back).toEqual([]);
    shared.release();
    expect(back).toEqual([memory]);
  });
});
