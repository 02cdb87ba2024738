import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import type { FixedKeyProcessor, FixedKeyProcessorContext } from '../operators/processor-api.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { startHarness, type Harness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };

interface Report {
  readonly msg: string;
  readonly task: string;
  readonly node: string;
  readonly blockedMs: number;
  readonly nodeMs?: number;
  readonly nextOffset?: string;
  readonly punctuator?: boolean;
  readonly unreported: number;
}

async function start(topology: Topology, clock: FakeClock) {
  const cluster = new FakeCluster();
  cluster.createTopic('in', 1);
  cluster.createTopic('out', 1);
  const reports: Report[] = [];
  const logger = pino(
    { level: 'warn' },
    { write: (line: string) => void reports.push(JSON.parse(line) as Report) },
  );
  const harness = await startHarness({ topology, cluster, clock, options: { logger } });
  return { harness, reports };
}

async function write({ cluster, clock }: Harness, ...values: string[]): Promise<void> {
  cluster.log('in').write(values.map((value) => ({ key: 'k', value })));
  cluster.changed('in');
  await clock.advance(0);
}

/** A function that takes as long as its value says, in ms, between others. */
function slow(clock: FakeClock): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .filter(() => true)
    .peek(
      (_key, value) => {
        clock.elapse(Number(value));
      },
      { name: 'compute' },
    )
    .to('out', strings);
  return builder.build();
}

describe('a synchronous function that holds up the event loop', () => {
  it('is reported with its task at first, and with its node from then on', async () => {
    const clock = new FakeClock();
    const { harness, reports } = await start(slow(clock), clock);
    await write(harness, '999');
    expect(reports).toEqual([]);
    // The loop has its turn after each of them by now.
    await write(harness, '5', '1500');
    expect(reports).toMatchObject([
      { task: '0_0', blockedMs: 1_500, nextOffset: '3', unreported: 0 },
    ]);
    expect(reports[0]?.msg).toContain('held up the event loop');
    await write(harness, '5', '2000');
    expect(reports[1]).toMatchObject({ node: 'compute', blockedMs: 2_000, nodeMs: 2_000 });
    expect(reports).toHaveLength(2);
    await harness.streams.close();
  });

  it('is reported once a minute, with how often it has happened meanwhile', async () => {
    const clock = new FakeClock();
    const { harness, reports } = await start(slow(clock), clock);
    for (let i = 0; i < 5; i++) await write(harness, '1000');
    expect(reports).toHaveLength(2);
    await clock.advance(60_000);
    await write(harness, '1000');
    expect(reports).toHaveLength(3);
    expect(reports[2]).toMatchObject({ node: 'compute', unreported: 3 });
    await harness.streams.close();
  });

  it('is reported when many records together take too long', async () => {
    const clock = new FakeClock();
    const { harness, reports } = await start(slow(clock), clock);
    // The first ones, before it is known how long they take; then it is one at a time.
    await write(harness, ...Array.from({ length: 20 }, () => '200'));
    expect(reports).toMatchObject([{ blockedMs: 1_600, records: 8 }]);
    await harness.streams.close();
  });

  it('is reported with its node at once if it is a punctuator', async () => {
    const clock = new FakeClock();
    class Ticking implements FixedKeyProcessor<string, string> {
      init(context: FixedKeyProcessorContext<string, string>): void {
        context.schedule('10s', 'wall-clock-time', () => {
          clock.elapse(1_200);
        });
      }

      process(): void {
        clock.elapse(1);
      }
    }
    const builder = new StreamsBuilder();
    builder.stream('in', strings).processValues(() => new Ticking(), { name: 'ticking' });
    const { harness, reports } = await start(builder.build(), clock);
    await clock.advance(10_000);
    expect(reports).toMatchObject([
      { task: '0_0', node: 'ticking', blockedMs: 1_200, punctuator: true },
    ]);
    await harness.streams.close();
  });
});
