import { describe, expect, it } from 'vitest';
import { coordinatorPartition } from './coordinator-partition.ts';

describe('coordinatorPartition', () => {
  // Group id, and Utils.abs(id.hashCode()) modulo 50 and 7, as Java 17 prints them.
  it.each([
    ['', 0, 0],
    ['a', 47, 6],
    ['my-group', 12, 1],
    ['connect-cluster', 13, 5],
    ['streams-wordcount', 35, 5],
    ['größe', 7, 6],
    ['🚀 rocket', 21, 5],
    // Its hash is the smallest integer, which has no absolute value.
    ['polygenelubricants', 0, 0],
  ])('puts %s where Java does', (groupId, of50, of7) => {
    expect(coordinatorPartition(groupId, 50)).toBe(of50);
    expect(coordinatorPartition(groupId, 7)).toBe(of7);
  });
});
