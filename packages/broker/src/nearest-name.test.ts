import { describe, expect, it } from 'vitest';
import { nearestName } from './nearest-name.ts';

const names = ['num.partitions', 'log.retention.ms', 'log.retention.bytes', 'node.id'];

describe('nearestName', () => {
  it.each([
    ['num.partition', 'num.partitions'],
    ['num_partitions', 'num.partitions'],
    ['log.retntion.ms', 'log.retention.ms'],
    ['NODE.ID', 'node.id'],
  ])('finds what %s was meant to be', (given, expected) => {
    expect(nearestName(given, names)).toBe(expected);
  });

  it('is silent when nothing is near', () => {
    expect(nearestName('entirely.something.else', names)).toBeUndefined();
    expect(nearestName('', names)).toBeUndefined();
  });

  it('stays quick on a hostile name', () => {
    const start = performance.now();
    nearestName('x'.repeat(10_000_000), names);
    expect(performance.now() - start).toBeLessThan(500);
  });
});
