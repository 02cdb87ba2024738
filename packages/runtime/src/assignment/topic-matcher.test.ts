import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { MisconfiguredTopicError } from '../errors.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { startHarness, type Harness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const REFRESH_MS = 1_000;
const config = { 'metadata.max.age.ms': REFRESH_MS };

function copying(...patterns: RegExp[]): Topology {
  const builder = new StreamsBuilder();
  for (const pattern of patterns) builder.stream(pattern, strings).to('copy', strings);
  return builder.build();
}

function newCluster(...topics: string[]): FakeCluster {
  const cluster = new FakeCluster();
  for (const topic of ['copy', ...topics]) cluster.createTopic(topic, 1);
  return cluster;
}

function write(cluster: FakeCluster, topic: string, value: string): void {
  cluster.log(topic).write([{ key: 'k', value }]);
  cluster.changed(topic);
}

async function copied(cluster: FakeCluster, { clock }: Harness): Promise<(string | undefined)[]> {
  await clock.advance(30_000);
  return cluster
    .log('copy')
    .records()
    .map(({ value }) => value?.toString());
}

describe('sources by pattern', () => {
  it('read the topics whose whole name matches, and those that appear later', async () => {
    const cluster = newCluster('in-a', 'in-', 'not-in-a', 'in-a-not');
    for (const topic of ['in-a', 'in-', 'not-in-a', 'in-a-not']) write(cluster, topic, topic);
    const harness = await startHarness({ topology: copying(/in-.?/), cluster, config });
    expect(harness.streams.state).toBe('RUNNING');
    expect((await copied(cluster, harness)).sort()).toEqual(['in-', 'in-a']);

    cluster.createTopic('in-b', 2);
    cluster.log('in-b', 1).write([{ key: 'k', value: 'b' }]);
    await harness.clock.advance(REFRESH_MS);
    expect(harness.streams.state).toBe('RUNNING');
    write(cluster, 'in-a', 'a2');
    expect((await copied(cluster, harness)).sort()).toEqual(['a2', 'b', 'in-', 'in-a']);
    expect(cluster.group('app').offsets.get('in-b-1')?.offset).toBe(1n);
    expect(await harness.streams.close()).toBe(true);
  });

  it('run without any topic that matches, until one does', async () => {
    const cluster = newCluster();
    const builder = new StreamsBuilder();
    builder
      .stream(/in-.*/, strings)
      .groupBy((_key, value) => value, strings)
      .count({ store: 'n' })
      .toStream()
      .to('copy', { key: serdes.string(), value: serdes.long() });
    const harness = await startHarness({ topology: builder.build(), cluster, config });
    expect(harness.streams.state).toBe('RUNNING');
    expect(cluster.partitionCount('app-n-repartition')).toBeUndefined();
    cluster.createTopic('in-x', 3);
    write(cluster, 'in-x', 'x');
    await harness.clock.advance(REFRESH_MS);
    expect(cluster.partitionCount('app-n-repartition')).toBe(3);
    await copied(cluster, harness);
    expect(await copied(cluster, harness)).toHaveLength(1);
    await harness.streams.close();
  });

  it('go on without a topic that is deleted', async () => {
    const cluster = newCluster('in-a', 'in-b');
    const harness = await startHarness({ topology: copying(/in-.*/), cluster, config });
    write(cluster, 'in-a', 'a');
    write(cluster, 'in-b', 'b');
    expect((await copied(cluster, harness)).sort()).toEqual(['a', 'b']);
    cluster.deleteTopic('in-b');
    cluster.changed('in-b');
    await harness.clock.advance(REFRESH_MS);
    write(cluster, 'in-a', 'a2');
    expect((await copied(cluster, harness)).sort()).toEqual(['a', 'a2', 'b']);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.streams.close();
  });

  it('must not match the same topic', async () => {
    const cluster = newCluster('in-ab');
    const harness = startHarness({ topology: copying(/in-a.*/, /in-.b/), cluster, config });
    await expect(harness).rejects.toThrow(MisconfiguredTopicError);
  });

  it('cost nothing where there are none', async () => {
    const cluster = newCluster('in');
    const builder = new StreamsBuilder();
    builder.stream('in', strings).to('copy', strings);
    const harness = await startHarness({ topology: builder.build(), cluster, config });
    cluster.topicNames = () => {
      throw new Error('not to be asked');
    };
    await harness.clock.advance(10 * REFRESH_MS);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.streams.close();
  });
});
