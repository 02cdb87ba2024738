import { describe, expect, it } from 'vitest';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { createLogger } from '../logging/logger.ts';
import type { ProcessorContext } from '../operators/processor-api.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { Harness } from '../testing-support/harness.ts';
import { startHarness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const MINUTE_MS = 60_000;

interface Line {
  readonly msg: string;
  readonly level: number;
  readonly thread: string;
  readonly [field: string]: unknown;
}

/** Counts per value, through a repartition topic, with a punctuator every minute. */
function topology(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .process<string, string>(() => {
      let context: ProcessorContext<string, string>;
      return {
        init(given) {
          context = given;
          context.schedule(MINUTE_MS, 'wall-clock-time', () => undefined);
        },
        process: (record) => context.forward(record),
      };
    })
    .groupBy((_, value) => value, strings)
    .count({ store: 'counts' });
  return builder.build();
}

interface Setup extends Harness {
  readonly write: (count: number) => void;
  readonly summaries: () => Line[];
}

async function start(config: StreamsConfigInput = {}): Promise<Setup> {
  const cluster = new FakeCluster();
  cluster.createTopic('in', 1);
  const lines: string[] = [];
  const logger = createLogger({ level: 'info' }, { write: (line) => void lines.push(line) });
  const options = { logger };
  const harness = await startHarness({ topology: topology(), cluster, config, options });
  return {
    ...harness,
    write(count) {
      for (let i = 0; i < count; i++) {
        cluster.log('in').write([{ key: 'k', value: `v${String(i)}`, timestamp: i }]);
      }
      cluster.changed('in', 0);
    },
    summaries: () =>
      lines.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg.startsWith('summary')),
  };
}

describe('178 (KAFKA-16584): the summary of a stream thread', () => {
  it('says every log.summary.interval.ms, two minutes, what was done since the last one', async () => {
    const { streams, clock, write, summaries } = await start();
    write(3);
    await clock.advance(2 * MINUTE_MS - 1);
    expect(summaries()).toEqual([]);
    await clock.advance(1);
    expect(summaries()).toHaveLength(1);
    expect(summaries()[0]).toMatchObject({
      level: 30,
      // Each is read twice: from its topic, and from the repartition topic.
      records: 6,
      dropped: 0,
      punctuations: 2,
      purges: 1,
      restored: 0,
      sinceMs: 2 * MINUTE_MS,
    });
    expect(summaries()[0]?.thread).toMatch(/^app-.*-StreamThread-1$/);
    expect(summaries()[0]?.['commits']).toBeGreaterThan(0);
    write(1);
    await clock.advance(2 * MINUTE_MS);
    expect(summaries()).toHaveLength(2);
    expect(summaries()[1]).toMatchObject({ records: 2, punctuations: 2, purges: 1 });
    await streams.close();
    await clock.advance(10 * MINUTE_MS);
    expect(summaries()).toHaveLength(2);
  });

  it('comes from each thread, and from one without anything to do as well', async () => {
    const { streams, clock, summaries } = await start({
      'log.summary.interval.ms': '10s',
      'num.stream.threads': 2,
    });
    await clock.advance(50_000);
    const threads = summaries().map(({ thread }) => thread.slice(-1));
    expect(threads.sort().join('')).toBe('1111122222');
    expect(summaries().every(({ records, commits }) => records === 0 && commits === 0)).toBe(true);
    await streams.close();
  });

  it.each([0, -1])('does not come with an interval of %i', async (intervalMs) => {
    const { streams, clock, write, summaries } = await start({
      'log.summary.interval.ms': intervalMs,
    });
    write(3);
    await clock.advance(60 * MINUTE_MS);
    expect(summaries()).toEqual([]);
    await streams.close();
  });

  it('counts what tasks did that are closed since', async () => {
    const { streams, clock, cluster, write, summaries } = await start({
      'log.summary.interval.ms': '1m',
    });
    write(3);
    await clock.advance(59_000);
    cluster.group('app').rebalance();
    await clock.advance(1_000);
    expect(summaries()).toHaveLength(1);
    expect(summaries()[0]).toMatchObject({ records: 6 });
    await streams.close();
  });
});
