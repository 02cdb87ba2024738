import { describe, expect, it } from 'vitest';
import { decodePartitionMetadata } from '../commit/offsets-metadata.ts';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { Harness } from '../testing-support/harness.ts';
import { startHarness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const COMMIT_MS = 100;

/** Base64 of Kafka Streams 4.4's TopicPartitionMetadata: time 30; time 30 and the close times s=7, t=9. */
const JAVA_30 = 'AgAAAAAAAAAe';
const JAVA_30_CLOSED = 'AgAAAAAAAAAeAAAAAgAAAAFzAAAAAAAAAAcAAAABdAAAAAAAAAAJ';

/** What an instance was told of times. */
interface Seen {
  /** The partition time that the extractor was given, by record. */
  readonly partitionTimes: string[];
  /** The stream time that the processor saw, by record. */
  readonly streamTimes: number[];
  /** Stream times at which it was punctuated. */
  readonly ticks: number[];
}

function observing(seen: Seen, topics: readonly string[] = ['in']): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream([...topics], {
      ...strings,
      timestampExtractor: (record, partitionTime) => {
        seen.partitionTimes.push(
          `${record.topic}-${String(record.partition)}@${String(partitionTime)}`,
        );
        return record.timestamp;
      },
    })
    .process<string, string>(() => ({
      init(context) {
        context.schedule(10, 'stream-time', (now) => seen.ticks.push(now));
        this.process = (record) => {
          seen.streamTimes.push(context.currentStreamTimeMs());
          return context.forward(record);
        };
      },
      process: () => undefined,
    }))
    .to('out', strings);
  return builder.build();
}

function cluster(topics: Readonly<Record<string, number>> = { in: 1 }): FakeCluster {
  const made = new FakeCluster();
  for (const [topic, partitions] of Object.entries(topics)) made.createTopic(topic, partitions);
  made.createTopic('out', 1);
  return made;
}

function write(to: FakeCluster, timestamps: readonly number[], topic = 'in', partition = 0): void {
  for (const timestamp of timestamps) {
    to.log(topic, partition).write([{ key: 'k', value: 'v', timestamp }]);
  }
  to.changed(topic, partition);
}

async function start(
  made: FakeCluster,
  options: { topics?: readonly string[]; clock?: FakeClock } = {},
): Promise<Harness & { seen: Seen }> {
  const seen: Seen = { partitionTimes: [], streamTimes: [], ticks: [] };
  const harness = await startHarness({
    cluster: made,
    topology: observing(seen, options.topics),
    config: { 'commit.interval.ms': COMMIT_MS, 'max.task.idle.ms': -1 },
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  return { ...harness, seen };
}

describe('partition time and stream time', () => {
  it("are the highest times taken, and are committed in Kafka Streams' bytes", async () => {
    const made = cluster();
    const { clock, seen, streams } = await start(made);
    write(made, [10, 30, 20]);
    await clock.advance(COMMIT_MS);
    expect(seen.partitionTimes).toEqual(['in-0@-1', 'in-0@10', 'in-0@30']);
    expect(seen.streamTimes).toEqual([10, 30, 30]);
    expect(made.group('app').offsets.get('in-0')).toEqual({ offset: 3n, metadata: JAVA_30 });
    await streams.close();
  });

  it('are taken up again after a restart', async () => {
    const made = cluster();
    const first = await start(made);
    write(made, [10, 30]);
    await first.clock.advance(COMMIT_MS);
    await first.streams.close();
    const { clock, seen, streams } = await start(made);
    // Stream time is known, so the first tick waits for no record.
    expect(seen.ticks).toEqual([30]);
    write(made, [5, 39, 40]);
    await clock.advance(COMMIT_MS);
    expect(seen.partitionTimes).toEqual(['in-0@30', 'in-0@30', 'in-0@39']);
    expect(seen.streamTimes).toEqual([30, 39, 40]);
    expect(seen.ticks).toEqual([30, 40]);
    await streams.close();
  });

  it('go with a task to another instance', async () => {
    const made = cluster({ in: 2 });
    const clock = new FakeClock();
    const first = await start(made, { clock });
    write(made, [100], 'in', 0);
    write(made, [200], 'in', 1);
    await clock.advance(COMMIT_MS);
    const second = await start(made, { clock });
    await clock.advance(0);
    write(made, [1], 'in', 0);
    write(made, [1], 'in', 1);
    await clock.advance(COMMIT_MS);
    // Who has which partition is the assignor's affair.
    expect(first.seen.partitionTimes).toHaveLength(3);
    expect(second.seen.partitionTimes).toHaveLength(1);
    const later = [first.seen.partitionTimes[2], second.seen.partitionTimes[0]].sort();
    expect(later).toEqual(['in-0@100', 'in-1@200']);
    expect(second.seen.streamTimes[0]).toBe(
      second.seen.partitionTimes[0] === 'in-0@100' ? 100 : 200,
    );
    await first.streams.close();
    await second.streams.close();
  });

  it('begin anew with a task of which nothing was committed since', async () => {
    const made = cluster();
    const first = await start(made);
    write(made, [10]);
    await first.clock.advance(COMMIT_MS);
    write(made, [500]);
    await first.clock.advance(1);
    expect(first.seen.streamTimes).toEqual([10, 500]);
    // What it does from here on is refused: the member is gone.
    await made.group('app').expire('member-1');
    await first.clock.advance(COMMIT_MS);
    expect(first.seen.partitionTimes).toEqual(['in-0@-1', 'in-0@10', 'in-0@10']);
    await first.streams.close();
  });

  it('of several partitions make one stream time, the highest', async () => {
    const made = cluster({ in: 1, other: 1 });
    const { offsets } = made.group('app');
    offsets.set('in-0', { offset: 0n, metadata: JAVA_30 });
    write(made, [5], 'other');
    const { clock, seen, streams } = await start(made, { topics: ['in', 'other'] });
    await clock.advance(COMMIT_MS);
    expect(seen.partitionTimes).toEqual(['other-0@-1']);
    expect(seen.streamTimes).toEqual([30]);
    // Each partition keeps its own.
    expect(decodePartitionMetadata(offsets.get('other-0')?.metadata ?? '').partitionTime).toBe(5);
    expect(offsets.get('in-0')?.metadata).toBe(JAVA_30);
    await streams.close();
  });

  it.each(['', 'moved by a tool', 'AAAA'])(
    'are unknown when the metadata is %j',
    async (metadata) => {
      const made = cluster();
      made.group('app').offsets.set('in-0', { offset: 1n, metadata });
      write(made, [99, 7]);
      const { clock, seen, streams } = await start(made);
      await clock.advance(COMMIT_MS);
      expect(seen.partitionTimes).toEqual(['in-0@-1']);
      expect(seen.streamTimes).toEqual([7]);
      expect(made.group('app').offsets.get('in-0')?.offset).toBe(2n);
      await streams.close();
    },
  );

  it('keep the close times that were emitted beside them: the latest that any partition has', async () => {
    const made = cluster({ in: 1, other: 1 });
    const { offsets } = made.group('app');
    offsets.set('in-0', { offset: 0n, metadata: JAVA_30_CLOSED });
    const older = Buffer.from(JAVA_30_CLOSED, 'base64');
    older.writeBigInt64BE(3n, 18);
    offsets.set('other-0', { offset: 0n, metadata: older.toString('base64') });
    write(made, [5]);
    write(made, [5], 'other');
    const { clock, streams } = await start(made, { topics: ['in', 'other'] });
    await clock.advance(COMMIT_MS);
    expect(offsets.get('in-0')).toEqual({ offset: 1n, metadata: JAVA_30_CLOSED });
    expect(offsets.get('other-0')).toEqual({ offset: 1n, metadata: JAVA_30_CLOSED });
    await streams.close();
  });
});
