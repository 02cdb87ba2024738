import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { untilTimeLimit } from '../dsl/suppressed.ts';
import { timeWindows } from '../dsl/time-windows.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import { HitRatio, Level } from '../state/measures.ts';
import { stores } from '../state/stores.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { startHarness, type Harness } from '../testing-support/harness.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const COMMIT_INTERVAL_MS = 30_000;

/** What is measured of a store, or of its cache, by name; `tag` is how its name is tagged. */
function measured({ streams }: Harness, tag: string, store: string): Record<string, unknown> {
  const found = streams.metrics().filter(({ tags }) => tags[tag] === store);
  for (const { tags } of found) expect(tags).toMatchObject({ 'task-id': '0_0' });
  return Object.fromEntries(found.map((metric) => [metric.name, metric.value()]));
}

function write(cluster: FakeCluster, ...keys: string[]): void {
  cluster.log('in').write(keys.map((key, i) => ({ key, value: `v${String(i)}`, timestamp: i })));
  cluster.changed('in');
}

describe('metrics of stores', () => {
  it('tell keys, open iterators, the cache and the buffer of a task, while it has them', async () => {
    const cluster = new FakeCluster();
    cluster.createTopic('in', 1);
    const builder = new StreamsBuilder();
    builder.addStateStore(stores.keyValue({ name: 'seen', ...strings }));
    let seen: KeyValueStore<string, string> | undefined;
    const input = builder.stream('in', strings);
    input.process(
      () => ({
        init(context) {
          seen = context.getStateStore('seen');
        },
        process({ key, value }) {
          seen?.put(key, value);
        },
      }),
      { stores: ['seen'] },
    );
    input
      .groupByKey()
      .count({ store: 'counts' })
      .suppress(untilTimeLimit(1_000, { name: 'calm' }));
    input
      .groupByKey()
      .windowedBy(timeWindows({ size: 10 }))
      .count({ store: 'windows' });
    const harness = await startHarness({
      topology: builder.build(),
      cluster,
      config: { 'statestore.cache.max.bytes': 1_000_000, 'metrics.recording.level': 'DEBUG' },
    });
    write(cluster, 'a', 'b', 'a', 'a');
    await harness.clock.advance(COMMIT_INTERVAL_MS);
    expect(measured(harness, 'in-memory-state-id', 'seen')).toMatchObject({
      'num-keys': 2,
      'num-open-iterators': 0,
      // Four in the 30 s of a window.
      'put-rate': 4 / 30,
      'put-latency-max': 0,
      'get-rate': 0,
      'get-latency-avg': NaN,
    });
    const open = seen?.all();
    open?.next();
    expect(measured(harness, 'in-memory-state-id', 'seen')['num-open-iterators']).toBe(1);
    open?.return?.();
    expect(measured(harness, 'in-memory-state-id', 'seen')['num-open-iterators']).toBe(0);
    expect(measured(harness, 'record-cache-id', 'counts')).toEqual({
      'hit-ratio-avg': 0.5,
      'hit-ratio-min': 0.5,
      'hit-ratio-max': 0.5,
    });
    expect(measured(harness, 'in-memory-window-state-id', 'windows')).toMatchObject({
      'num-open-iterators': 0,
    });
    const buffer = measured(harness, 'in-memory-suppression-state-id', 'calm-store');
    expect(buffer).toMatchObject({
      // One change per key came out of the cache, at the commit.
      'suppression-buffer-count-avg': 1.5,
      'suppression-buffer-count-max': 2,
      'suppression-buffer-size-avg': 58.5,
      'suppression-buffer-size-max': 78,
    });

    write(cluster, 'a', 'b');
    await harness.clock.advance(COMMIT_INTERVAL_MS);
    // All that was asked for since then was still in the cache: 2 of 4, then 2 of 2.
    expect(measured(harness, 'record-cache-id', 'counts')).toEqual({
      'hit-ratio-avg': 4 / 6,
      'hit-ratio-min': 0.5,
      'hit-ratio-max': 1,
    });
    await harness.streams.close();
    expect(harness.streams.metrics().some(({ tags }) => 'task-id' in tags)).toBe(false);
  });

  it('tell how far the stores of a task are restored', async () => {
    const cluster = new FakeCluster();
    cluster.createTopic('in', 1);
    cluster.createTopic('app-seen-changelog', 1);
    cluster.log('app-seen-changelog').write([
      { key: 'a', value: '1' },
      { key: 'b', value: '2' },
    ]);
    const builder = new StreamsBuilder();
    builder.addStateStore(stores.keyValue({ name: 'seen', ...strings }));
    builder
      .stream('in', strings)
      .process(() => ({ process: () => undefined }), { stores: ['seen'] });
    const harness = await startHarness({
      topology: builder.build(),
      cluster,
      config: { 'metrics.recording.level': 'DEBUG' },
    });
    await harness.clock.advance(10);
    expect(measured(harness, 'task-id', '0_0')).toMatchObject({
      'restore-total': 2,
      'restore-remaining-records-total': 0,
      'num-keys': 2,
    });
    await harness.streams.close();
  });
});

describe('HitRatio', () => {
  it('has no value before the first read, and leaves out intervals without one', () => {
    const ratio = new HitRatio();
    expect([ratio.average, ratio.min, ratio.max]).toEqual([NaN, NaN, NaN]);
    ratio.endInterval();
    ratio.misses = 2;
    expect([ratio.average, ratio.min, ratio.max]).toEqual([0, 0, 0]);
    ratio.endInterval();
    ratio.endInterval();
    ratio.hits = 6;
    expect([ratio.average, ratio.min, ratio.max]).toEqual([0.75, 0, 1]);
  });
});

describe('Level', () => {
  it('is the average of all its values, and the highest', () => {
    const level = new Level();
    expect([level.average, level.max]).toEqual([NaN, 0]);
    for (const value of [3, 1, 8]) level.add(value);
    expect([level.average, level.max]).toEqual([4, 8]);
  });
});
