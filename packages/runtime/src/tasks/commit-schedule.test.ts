import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { SPILL_INTERVAL_MS } from '../state/limits.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { Harness } from '../testing-support/harness.ts';
import { startHarness } from '../testing-support/harness.ts';

/** A real disk, under a fake clock. */
const DISK_WAIT_MS = 10_000;

const strings = { key: serdes.string(), value: serdes.string() };

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-'));
});
afterEach(() => {
  rmSync(stateDir, { recursive: true, force: true });
});

/** A table of a topic, in a store; commits come once an hour. */
async function start(config: StreamsConfigInput): Promise<Harness> {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .groupByKey()
    .reduce((_old, value) => value, { store: 'latest' });
  const cluster = new FakeCluster();
  cluster.createTopic('in', 2);
  return startHarness({
    topology: builder.build(),
    cluster,
    config: {
      'state.dir': stateDir,
      'dsl.store.suppliers.class': 'persistent',
      'statestore.cache.max.bytes': 0,
      'commit.interval.ms': '1h',
      ...config,
    },
  });
}

async function write({ cluster, clock }: Harness, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const value = 'v'.repeat(100);
    cluster.log('in', i % 2).write([{ key: `k${String(i)}`, value, timestamp: i }]);
  }
  cluster.changed('in', 0);
  cluster.changed('in', 1);
  await clock.advance(1);
}

describe('statestore.uncommitted.max.bytes', () => {
  it('brings a commit forward when the stores of all tasks hold back more, again and again', async () => {
    const harness = await start({ 'statestore.uncommitted.max.bytes': 10_000 });
    const group = harness.cluster.group('app');
    await write(harness, 80);
    expect(group.commitCount).toBe(0);
    await write(harness, 30);
    expect(group.commitCount).toBe(1);
    expect(group.offsets.get('in-0')?.offset).toBe(55n);
    expect(group.offsets.get('in-1')?.offset).toBe(55n);
    await write(harness, 80);
    expect(group.commitCount).toBe(1);
    await write(harness, 30);
    expect(group.commitCount).toBe(2);
    await harness.streams.close();
  });

  it('is shared by the stream threads', async () => {
    const harness = await start({
      'statestore.uncommitted.max.bytes': 20_000,
      'num.stream.threads': 2,
    });
    const group = harness.cluster.group('app');
    await write(harness, 160);
    expect(group.commitCount).toBe(0);
    await write(harness, 40);
    expect(group.commitCount).toBe(2);
    await harness.streams.close();
  });

  it.each([
    ['without a bound', { 'statestore.uncommitted.max.bytes': -1 }],
    ['below it, as by default', {}],
    [
      'in memory, where nothing is held back',
      { 'dsl.store.suppliers.class': 'inMemory', 'statestore.uncommitted.max.bytes': 100 },
    ],
  ])('does nothing %s', async (_, config) => {
    const harness = await start(config);
    await write(harness, 500);
    expect(harness.cluster.group('app').commitCount).toBe(0);
    await harness.streams.close();
  });
});

describe('what is committed', () => {
  it('reaches the disk after a while, even if nothing comes any more', async () => {
    const commitMs = 1_000;
    const harness = await start({ 'commit.interval.ms': commitMs });
    const writtenMs = (): number => statSync(join(stateDir, 'app', '0_0', 'data.mdb')).mtimeMs;
    const openedMs = writtenMs();
    await write(harness, 10);
    await harness.clock.advance(commitMs);
    expect(harness.cluster.group('app').commitCount).toBe(1);
    expect(writtenMs()).toBe(openedMs);
    await harness.clock.advance(SPILL_INTERVAL_MS);
    await vi.waitFor(() => {
      expect(writtenMs()).toBeGreaterThan(openedMs);
    }, DISK_WAIT_MS);
    await harness.streams.close();
  });
});
