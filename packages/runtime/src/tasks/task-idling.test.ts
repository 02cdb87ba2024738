import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { Harness } from '../testing-support/harness.ts';
import { startHarness } from '../testing-support/harness.ts';

const strings = { key: serdes.string(), value: serdes.string() };

/** Merges `a` and `b`, each of one partition, into `out`. */
async function start(made: FakeCluster, maxTaskIdleMs: number): Promise<Harness> {
  const builder = new StreamsBuilder();
  builder.stream(['a', 'b'], strings).to('out', strings);
  return startHarness({
    cluster: made,
    topology: builder.build(),
    config: {
      'max.task.idle.ms': maxTaskIdleMs,
      'commit.interval.ms': 10,
      'metrics.recording.level': 'DEBUG',
    },
  });
}

function cluster(): FakeCluster {
  const made = new FakeCluster();
  for (const topic of ['a', 'b', 'out']) made.createTopic(topic);
  return made;
}

function write(to: FakeCluster, topic: string, ...timestamps: number[]): void {
  for (const timestamp of timestamps) {
    to.log(topic).write([{ key: topic, value: String(timestamp), timestamp }]);
  }
  to.changed(topic);
}

function output({ cluster: made }: Harness): string[] {
  return made
    .log('out')
    .records()
    .map(({ key, value }) => `${String(key)}${String(value)}`);
}

function enforced({ streams }: Harness) {
  return streams.metrics().filter(({ name }) => name === 'enforced-processing-total');
}

describe('max.task.idle.ms of a stream thread', () => {
  it('-1 takes what is there, in the order in which it came', async () => {
    const harness = await start(cluster(), -1);
    write(harness.cluster, 'a', 5);
    await harness.clock.advance(10);
    write(harness.cluster, 'b', 1);
    await harness.clock.advance(10);
    expect(output(harness)).toEqual(['a5', 'b1']);
    expect(enforced(harness)[0]?.value()).toBe(0);
    await harness.streams.close();
  });

  it('0 waits for nothing that is not there, and counts it as enforced', async () => {
    const harness = await start(cluster(), 0);
    write(harness.cluster, 'a', 5, 6);
    await harness.clock.advance(10);
    expect(output(harness)).toEqual(['a5', 'a6']);
    const [metric, ...others] = enforced(harness);
    expect(others).toEqual([]);
    expect(metric?.group).toBe('stream-task-metrics');
    expect(metric?.tags).toEqual({ 'thread-id': expect.any(String), 'task-id': '0_0' });
    expect(metric?.value()).toBe(2);
    await harness.streams.close();
    // With the task its metrics are gone.
    expect(enforced(harness)).toEqual([]);
  });

  it('0 waits for what a partition is behind, even if it comes much later', async () => {
    const made = cluster();
    write(made, 'a', 5);
    write(made, 'b', 1);
    const log = made.log('b');
    const read = log.read.bind(log);
    // No response has had room for b yet.
    log.read = (offset) => ({ records: Buffer.alloc(0), nextOffset: offset });
    const harness = await start(made, 0);
    await harness.clock.advance(60_000);
    expect(output(harness)).toEqual([]);
    log.read = read;
    made.changed('b');
    await harness.clock.advance(10);
    expect(output(harness)).toEqual(['b1', 'a5']);
    await harness.streams.close();
  });

  it('above 0 waits for an empty partition, and takes what comes in time in the order of time', async () => {
    const harness = await start(cluster(), 500);
    // Both have been empty for 400 ms when the first record comes.
    await harness.clock.advance(400);
    write(harness.cluster, 'a', 5);
    await harness.clock.advance(50);
    expect(output(harness)).toEqual([]);
    write(harness.cluster, 'b', 1);
    await harness.clock.advance(0);
    // b ran empty just now, and a has more than it.
    await harness.clock.advance(499);
    expect(output(harness)).toEqual(['b1']);
    await harness.clock.advance(20);
    expect(output(harness)).toEqual(['b1', 'a5']);
    expect(enforced(harness)[0]?.value()).toBe(1);
    await harness.streams.close();
  });

  it('goes on after a partition was moved to an end that has nothing to fetch', async () => {
    const made = cluster();
    write(made, 'b', 1, 2, 3);
    made.group('app').offsets.set('b-0', { offset: 1n, metadata: '' });
    made.log('b').deleteUpTo(3n);
    write(made, 'a', 5);
    const harness = await start(made, 0);
    await harness.clock.advance(1_000);
    expect(output(harness)).toEqual(['a5']);
    await harness.streams.close();
  });
});
