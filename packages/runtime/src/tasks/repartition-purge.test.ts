import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { Harness, HarnessOptions } from '../testing-support/harness.ts';
import { startHarness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const TOPIC = 'app-counts-repartition';

/** Counts per value, through a repartition topic; what the function promises for a key is waited for. */
function rekeyed(
  wait: (key: string | null) => Promise<void> | undefined = () => undefined,
): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .selectKey((_, value) => value)
    .repartition({ name: 'counts', ...strings })
    .peek(wait)
    .to('out', strings);
  return builder.build();
}

function cluster(partitions = 1): FakeCluster {
  const made = new FakeCluster();
  made.createTopic('in', partitions);
  made.createTopic('out', 1);
  return made;
}

function write(to: FakeCluster, values: readonly string[], topic = 'in', partition = 0): void {
  values.forEach((value, i) => {
    to.log(topic, partition).write([{ key: 'k', value, timestamp: i }]);
  });
  to.changed(topic, partition);
}

function start(config: StreamsConfigInput, setup: Partial<HarnessOptions> = {}): Promise<Harness> {
  return startHarness({ cluster: cluster(), topology: rekeyed(), config, ...setup });
}

/** Writes a record each `everyMs` for `times` times, and returns after which time each request came. */
async function requestTimes(
  { cluster: made, clock }: Harness,
  times: number,
  everyMs: number,
): Promise<number[]> {
  const seen: number[] = [];
  const from = clock.monotonicMs();
  for (let i = 0; i < times; i++) {
    write(made, [`v${String(i)}`]);
    await clock.advance(everyMs);
    while (seen.length < made.deleteRequests.length) seen.push(clock.monotonicMs() - from);
  }
  return seen;
}

function committed(made: FakeCluster, partition = 0): bigint {
  return made.group('app').offsets.get(`${TOPIC}-${String(partition)}`)?.offset ?? -1n;
}

describe('when repartition topics are purged', () => {
  it('every delete.interval.ms, where commits come every 100 ms', async () => {
    const harness = await start({ 'commit.interval.ms': 100 });
    // The default of 30 s does not follow the commit interval.
    expect(await requestTimes(harness, 650, 100)).toEqual([30_000, 60_000]);
    expect(harness.cluster.group('app').commitCount).toBeGreaterThan(600);
    await harness.streams.close();
  });

  it('with commits only, where delete.interval.ms is shorter than commit.interval.ms', async () => {
    const harness = await start({ 'commit.interval.ms': 5_000, 'delete.interval.ms': 100 });
    // What the first commit sends into the repartition topic, the second one has read.
    expect(await requestTimes(harness, 220, 100)).toEqual([10_000, 15_000, 20_000]);
    expect(harness.cluster.group('app').commitCount).toBe(4);
    await harness.streams.close();
  });

  it('at the first commit that finds delete.interval.ms over, counted from the start', async () => {
    const harness = await start({ 'commit.interval.ms': 400, 'delete.interval.ms': 1_000 });
    // Commits at 400, 800, 1200 ...: the third is the first that is far enough from the start, and the
    // third after it is again.
    expect(await requestTimes(harness, 30, 100)).toEqual([1_200, 2_400]);
    await harness.streams.close();
  });

  it('also with a commit that a processor asks for', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('in', strings)
      .selectKey((_, value) => value)
      .repartition({ name: 'counts', ...strings })
      .process<string, string>(() => ({
        init(context) {
          this.process = () => {
            context.commit();
          };
        },
        process: () => undefined,
      }));
    const harness = await start(
      { 'commit.interval.ms': '1h', 'delete.interval.ms': 1_000 },
      { topology: builder.build() },
    );
    await harness.clock.advance(1_000);
    write(harness.cluster, ['a', 'b']);
    await harness.clock.advance(0);
    // The fake producer sends when it is flushed, the real one by itself.
    await harness.client.producers[0]?.flush();
    await harness.clock.advance(100);
    expect(harness.cluster.deleteRequests).toEqual([[{ topic: TOPIC, partition: 0, offset: 2n }]]);
    await harness.streams.close();
  });

  it('never without a commit, although the interval is long over', async () => {
    const harness = await start({ 'commit.interval.ms': '1h', 'delete.interval.ms': 100 });
    expect(await requestTimes(harness, 20, 1_000)).toEqual([]);
    expect(harness.cluster.group('app').commitCount).toBe(0);
    await harness.streams.close();
    // The last commit, when the application stops, is followed by none either.
    expect(harness.cluster.group('app').commitCount).toBeGreaterThan(0);
    expect(harness.cluster.deleteRequests).toEqual([]);
  });

  it('not after a start before it has committed itself, whatever was committed before', async () => {
    const made = cluster();
    const first = await start({ 'commit.interval.ms': 100 }, { cluster: made });
    write(made, ['a', 'b']);
    await first.clock.advance(1_000);
    expect(committed(made)).toBe(2n);
    await first.streams.close();
    const second = await start(
      { 'commit.interval.ms': 100, 'delete.interval.ms': 100 },
      { cluster: made },
    );
    await second.clock.advance(10_000);
    expect(made.deleteRequests).toEqual([]);
    await second.streams.close();
  });
});

describe('what is purged of repartition topics', () => {
  it('what is committed, never what is only consumed', async () => {
    let finish: () => void = () => undefined;
    const topology = rekeyed((key) =>
      key === 'slow' ? new Promise<void>((resolve) => (finish = resolve)) : undefined,
    );
    const harness = await start(
      { 'commit.interval.ms': 100, 'delete.interval.ms': 100 },
      { topology },
    );
    const { cluster: made, clock } = harness;
    write(made, ['a', 'b', 'slow', 'c', 'd']);
    await clock.advance(10_000);
    // Five records are fetched; the third is in hand.
    expect(made.log(TOPIC).endOffset).toBe(5n);
    expect(committed(made)).toBe(2n);
    expect(made.log(TOPIC).logStartOffset).toBe(2n);
    finish();
    await clock.advance(10_000);
    expect(committed(made)).toBe(5n);
    expect(made.log(TOPIC).logStartOffset).toBe(5n);
    await harness.streams.close();
  });

  it('nothing of topics of the user, whatever their names, nor of changelogs', async () => {
    const made = cluster();
    for (const topic of ['app-own-repartition', 'table']) made.createTopic(topic);
    const builder = new StreamsBuilder();
    const table = builder.table('table', { ...strings, store: 'table-store' });
    builder
      .stream(['in', 'app-own-repartition'], strings)
      .selectKey((_, value) => value)
      .leftJoin(table, (value, row) => `${value} ${String(row)}`, strings)
      .groupByKey(strings)
      .count({ store: 'counts' })
      .toStream()
      .to('out', { key: serdes.string(), value: serdes.long() });
    const harness = await start(
      {
        'commit.interval.ms': 100,
        'delete.interval.ms': 100,
        // The source topic is the table's changelog.
        'topology.optimization': 'all',
      },
      { cluster: made, topology: builder.build({ 'topology.optimization': 'all' }) },
    );
    for (const topic of ['in', 'app-own-repartition', 'table']) write(made, ['a', 'b'], topic);
    await harness.clock.advance(5_000);
    const purged = new Set(made.deleteRequests.flat().map(({ topic }) => topic));
    const internal = made.topicNames().filter((topic) => topic.startsWith('app-KSTREAM'));
    expect(internal).toHaveLength(1);
    expect([...purged]).toEqual(internal);
    const started = made.topicNames().filter((topic) => made.log(topic).logStartOffset > 0n);
    expect(started).toEqual(internal);
    expect(made.log('app-counts-changelog').endOffset).toBeGreaterThan(0n);
    await harness.streams.close();
  });

  it('nothing that an older generation of the group has committed', async () => {
    const made = cluster(2);
    const clock = new FakeClock();
    const config = { 'commit.interval.ms': 100, 'delete.interval.ms': 10_000 };
    const first = await start(config, { cluster: made, clock });
    const values = Array.from({ length: 50 }, (_, i) => `v${String(i)}`);
    write(made, values);
    await clock.advance(5_000);
    const ends = [0, 1].map((partition) => committed(made, partition));
    expect(ends.every((end) => end > 0n)).toBe(true);
    const second = await start(config, { cluster: made, clock });
    await clock.advance(30_000);
    // One of the two partitions has another owner now; nobody has committed since.
    expect(made.deleteRequests).toEqual([]);
    write(made, values, 'in', 0);
    write(made, values, 'in', 1);
    await clock.advance(15_000);
    const purged = made.deleteRequests.flat();
    expect(purged.map(({ partition }) => partition).sort()).toEqual([0, 1]);
    for (const { partition, offset } of purged) {
      expect(offset).toBeGreaterThan(ends[partition] as bigint);
      expect(offset).toBeLessThanOrEqual(committed(made, partition));
    }
    await first.streams.close();
    await second.streams.close();
  });
});

describe('a purge that fails', () => {
  it('is told at debug only, is tried again an interval later, and covers what was committed since', async () => {
    const lines: { level: number; msg: string }[] = [];
    const logger = pino(
      { level: 'debug' },
      { write: (text: string) => void lines.push(JSON.parse(text) as (typeof lines)[number]) },
    );
    const harness = await start(
      { 'commit.interval.ms': 100, 'delete.interval.ms': 1_000 },
      { options: { logger } },
    );
    const { cluster: made, clock } = harness;
    made.onDeleteRecords = () => Promise.reject(new Error('not now'));
    write(made, ['a']);
    await clock.advance(1_100);
    write(made, ['b']);
    await clock.advance(800);
    expect(made.deleteRequests).toHaveLength(1);
    made.onDeleteRecords = null;
    await clock.advance(300);
    expect(made.deleteRequests).toHaveLength(2);
    expect(made.log(TOPIC).logStartOffset).toBe(2n);
    const told = lines.filter(({ msg }) => msg.startsWith('purge failed'));
    expect(told.map(({ level }) => level)).toEqual([20]);
    expect(lines.filter(({ level }) => level > 30)).toEqual([]);
    await harness.streams.close();
  });
});
