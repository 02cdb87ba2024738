/** The disk that repartition topics take, as brokers have it. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  connect,
  GroupProgress,
  KafkaStreams,
  serdes,
  silentLogger,
  StreamsBuilder,
  TopicWriter,
  type PartitionProgress,
  type StreamsClient,
  type StreamsConfigInput,
  type Topology,
} from '@millrace/runtime';
import { expect, it, type TestContext } from 'vitest';
import { describeOnBothBrokers, unique } from '../support/brokers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const MIB = 1024 * 1024;
const VALUE_BYTES = 1_000;
const CHUNK_RECORDS = 1_000;
const CHUNK_EVERY_MS = 100;
const CHUNKS = 120;
/** What comes in over three seconds: commit, purge, retention and the deletion of files take one together. */
const DISK_MAX_BYTES = 28 * MIB;
const WAIT_MS = 20_000;

const DELETE_INTERVAL_MS = 1_500;
/** Between two looks at the beginning of a log, on a busy machine. */
const LOOK_MAX_MS = 700;
/** Records that may have been committed between the two questions of one look. */
const COMMITTED_MEANWHILE = 100n;
const strings = { key: serdes.string(), value: serdes.string() };

/** Retention is looked at by timers, in both brokers. */
const eager = { 'log.retention.check.interval.ms': '200', 'log.initial.task.delay.ms': '100' };

describeOnBothBrokers(
  'the repartition topic of an application',
  (broker) => {
    function open({ onTestFinished }: TestContext): StreamsClient {
      const config = { 'bootstrap.servers': broker().bootstrapServers };
      const client = connect(config, { logger: silentLogger() });
      onTestFinished(() => client.close(5_000));
      return client;
    }

    async function start(
      { onTestFinished }: TestContext,
      topology: Topology,
      applicationId: string,
      config: StreamsConfigInput = {},
    ): Promise<KafkaStreams> {
      const streams = new KafkaStreams(
        topology,
        {
          'bootstrap.servers': broker().bootstrapServers,
          'application.id': applicationId,
          'state.dir': temporaryDirectory(),
          'commit.interval.ms': 100,
          'delete.interval.ms': 200,
          'linger.ms': 0,
          'topic.segment.bytes': MIB,
          'topic.file.delete.delay.ms': 100,
          ...config,
        },
        { logger: silentLogger(), environment: {} },
      );
      onTestFinished(async () => {
        await streams.close();
      });
      await streams.start();
      const untilMs = performance.now() + WAIT_MS;
      while (streams.state !== 'RUNNING' && performance.now() < untilMs) await sleep(20);
      return streams;
    }

    /** Of all stream threads. */
    function total(streams: KafkaStreams, name: string): number {
      return streams
        .metrics()
        .filter((metric) => metric.name === name && metric.group === 'stream-thread-metrics')
        .reduce((sum, metric) => sum + Number(metric.value()), 0);
    }

    /** Bytes that the partition's files have on the disk; preallocated indexes have none there. */
    function diskBytes(topic: string): number {
      const folder = join(broker().dataDir, `${topic}-0`);
      let bytes = 0;
      for (const name of readdirSync(folder)) {
        const file = statSync(join(folder, name), { throwIfNoEntry: false });
        if (file?.isFile() === true) bytes += file.blocks * 512;
      }
      return bytes;
    }

    // They wait for the most part, so they do it together.
    it.concurrent.for(['at_least_once', 'exactly_once_v2'])(
      'loses records every delete.interval.ms, only committed ones, however often there are commits: %s',
      { timeout: 30_000 },
      async (guarantee, context) => {
        const client = open(context);
        const [input, id] = [unique('in'), unique('app')];
        await client
          .admin()
          .createTopics([
            { topic: input, partitionCount: 1, replicationFactor: -1, config: new Map() },
          ]);
        const builder = new StreamsBuilder();
        builder
          .stream(input, strings)
          .selectKey((_, value) => value)
          .groupByKey({ ...strings, name: 'by-value' })
          .count({ store: 'counts' });
        const streams = await start(context, builder.build(), id, {
          'processing.guarantee': guarantee,
          'delete.interval.ms': DELETE_INTERVAL_MS,
        });
        const writer = await TopicWriter.open(client, { topic: input, ...strings });
        const progress = new GroupProgress(client, id);
        /** When the beginning was seen to move. */
        const movedAt: number[] = [];
        let begin = 0n;
        const untilMs = performance.now() + 5 * DELETE_INTERVAL_MS;
        for (let i = 0; performance.now() < untilMs; i++) {
          writer.send('k', `v${String(i % 7)}`, { timestamp: Date.now() });
          await sleep(20);
          const [seen] = (await progress.of(`${id}-by-value-repartition`)) ?? [];
          if (seen === undefined || seen.beginOffset === begin) continue;
          begin = seen.beginOffset;
          movedAt.push(performance.now());
          // Offsets were asked for before beginnings: what is gone was committed by then.
          expect(seen.committedOffset ?? 0n).toBeGreaterThan(begin - COMMITTED_MEANWHILE);
        }
        await writer.close();
        await progress.close();
        const requests = total(streams, 'purge-total');
        const commits = total(streams, 'commit-total');
        expect(requests).toBeGreaterThanOrEqual(3);
        expect(requests).toBeLessThanOrEqual(5);
        expect(Math.abs(movedAt.length - requests)).toBeLessThanOrEqual(1);
        expect(commits).toBeGreaterThan(4 * requests);
        for (let i = 1; i < movedAt.length; i++) {
          const distanceMs = (movedAt[i] as number) - (movedAt[i - 1] as number);
          expect(distanceMs).toBeGreaterThan(DELETE_INTERVAL_MS - LOOK_MAX_MS);
        }
      },
    );

    it('takes a bounded part of the disk, over several times as much data', async (context) => {
      const client = open(context);
      const [input, id] = [unique('in'), unique('app')];
      await client
        .admin()
        .createTopics([
          { topic: input, partitionCount: 1, replicationFactor: -1, config: new Map() },
        ]);
      const builder = new StreamsBuilder();
      builder
        .stream(input, strings)
        .selectKey((_, value) => value.slice(0, 3))
        .groupByKey({ ...strings, name: 'by-head' })
        .count({ store: 'counts' });
      const repartition = `${id}-by-head-repartition`;
      await start(context, builder.build(), id);

      const writer = await TopicWriter.open(client, { topic: input, ...strings, lingerMs: 5 });
      const tail = 'x'.repeat(VALUE_BYTES - 3);
      const begin = performance.now();
      let highestBytes = 0;
      for (let chunk = 1; chunk <= CHUNKS; chunk++) {
        for (let i = 0; i < CHUNK_RECORDS; i++) {
          writer.send('k', `${String(100 + (i % 900))}${tail}`, { timestamp: Date.now() });
        }
        await writer.flush();
        await sleep(Math.max(0, begin + chunk * CHUNK_EVERY_MS - performance.now()));
        highestBytes = Math.max(highestBytes, diskBytes(repartition));
      }
      await writer.close();

      const progress = new GroupProgress(client, id);
      const count = BigInt(CHUNKS * CHUNK_RECORDS);
      const untilMs = performance.now() + WAIT_MS;
      let seen: PartitionProgress | undefined;
      do {
        highestBytes = Math.max(highestBytes, diskBytes(repartition));
        await sleep(50);
        [seen] = (await progress.of(repartition)) ?? [];
      } while ((seen?.beginOffset ?? 0n) < count && performance.now() < untilMs);
      // Offsets and beginnings are asked for one after the other, and a commit may come in between.
      [seen] = (await progress.of(repartition)) ?? [];
      // All of it went through, is counted and committed, and is gone; the input is not.
      expect(seen).toMatchObject({ beginOffset: count, committedOffset: count, endOffset: count });
      expect((await progress.of(input))?.[0]).toMatchObject({ beginOffset: 0n, endOffset: count });
      expect(diskBytes(input)).toBeGreaterThan(4 * DISK_MAX_BYTES);
      expect(highestBytes).toBeGreaterThan(MIB / 2);
      expect(highestBytes).toBeLessThan(DISK_MAX_BYTES);
      // What is left is in the segment that is written to.
      while (diskBytes(repartition) > 2 * MIB && performance.now() < untilMs) await sleep(50);
      expect(diskBytes(repartition)).toBeLessThanOrEqual(2 * MIB);
      await progress.close();
    }, 60_000);
  },
  eager,
);
