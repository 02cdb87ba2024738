import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseLogConfig } from '../config.ts';
import { LogDir } from '../log-dir/log-dir.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { plainBatch, recordsIn, T0 } from '../testing/batches.ts';

let root: string;
let clock: FakeClock;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'log-test-'));
  clock = new FakeClock(T0);
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

const config = (entries: Record<string, string> = {}) =>
  parseLogConfig(new Map(Object.entries(entries)));

describe('a log on a real disk', () => {
  it('appends, rolls, reads, closes and opens again', async () => {
    const small = config({ 'internal.segment.bytes': '1000' });
    const dir = await LogDir.open(root, { clock });
    const log = dir.createLog('t', 0, null, small);
    for (let i = 0; i < 20; i++) {
      const result = log.appendAsLeader(plainBatch(10));
      expect(result.firstOffset).toBe(BigInt(i * 10));
    }
    expect(log.segments.length).toBeGreaterThan(2);
    expect(log.logEndOffset).toBe(200n);
    const read = (from: bigint): bigint[] => {
      const seen: bigint[] = [];
      for (let at = from; at < log.logEndOffset;) {
        const records = recordsIn(log.read(at, 1 << 20).records).filter((one) => one.offset >= at);
        seen.push(...records.map((one) => one.offset));
        at = (records.at(-1)?.offset ?? at) + 1n;
      }
      return seen;
    };
    expect(read(57n)).toEqual(Array.from({ length: 143 }, (_, i) => BigInt(57 + i)));
    await dir.close();

    const again = await LogDir.open(root, { clock, configOf: () => small });
    const reopened = again.log('t', 0);
    expect(reopened?.logEndOffset).toBe(200n);
    expect(reopened?.recoveryPoint).toBe(200n);
    expect(recordsIn(reopened?.read(195n, 1000).records ?? Buffer.alloc(0)).at(-1)?.offset).toBe(
      199n,
    );
    await again.close();
  });
});
