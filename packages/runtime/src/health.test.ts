import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from './dsl/streams-builder.ts';
import { ProcessingError } from './errors.ts';
import { serdes } from './serdes/serdes.ts';
import { FakeCluster } from './testing-support/fake-cluster.ts';
import { createHarness, startHarness } from './testing-support/harness.ts';
import type { Topology } from './topology/topology.ts';

const text = { key: serdes.string(), value: serdes.string() };

function topology(onRecord: () => void = () => undefined): Topology {
  const builder = new StreamsBuilder();
  builder.globalTable('table', text);
  builder.stream('in', text).peek(onRecord);
  return builder.build();
}

function cluster(): FakeCluster {
  const made = new FakeCluster();
  made.createTopic('in', 1);
  made.createTopic('table', 1);
  return made;
}

describe('health', () => {
  it('is alive from the start, ready while everything runs, and neither after the close', async () => {
    const { streams, clock } = createHarness({ topology: topology(), cluster: cluster() });
    expect(streams.health()).toEqual({
      isAlive: true,
      isReady: false,
      state: 'CREATED',
      failure: null,
      threads: [],
    });
    await streams.start();
    await clock.advance(0);
    const health = streams.health();
    expect(health).toMatchObject({ isAlive: true, isReady: true, state: 'RUNNING' });
    expect(
      health.threads.map(({ name, state }) => [name.replace(/^.*-(?=\w+Thread)/, ''), state]),
    ).toEqual([
      ['StreamThread-1', 'RUNNING'],
      ['GlobalStreamThread', 'RUNNING'],
    ]);
    const closing = streams.close();
    expect(streams.health()).toMatchObject({ isAlive: true, isReady: false });
    await closing;
    expect(streams.health()).toMatchObject({ isAlive: false, isReady: false, failure: null });
  });

  it('tells what the client has failed with', async () => {
    const made = cluster();
    made.log('in').write([{ key: 'k', value: 'v' }]);
    const fail = (): void => {
      throw new Error('no');
    };
    const { streams, clock } = await startHarness({ topology: topology(fail), cluster: made });
    await clock.advance(1_000);
    const health = streams.health();
    expect(health).toMatchObject({ isAlive: false, isReady: false, state: 'ERROR' });
    expect(health.failure).toBeInstanceOf(ProcessingError);
    await streams.close();
  });
});
