import { describe, expect, it } from 'vitest';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { INPUT_BUFFER_MAX_BYTES, QUEUE_SHARE_MAX_BYTES } from '../limits.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { encodeBatch } from '../testing-support/fake-log.ts';
import { startHarness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const LAG_BYTES = 10 * 1024 ** 3;
/** `max.partition.fetch.bytes` by default. */
const FETCH_BYTES = 1024 * 1024;
const BATCH_BYTES = 48 * 1024;
const RECORD_MS = 1;

/** What one fetch has brought of a partition; its memory is held until its last record is done. */
interface Part {
  readonly bytes: number;
  recordCount: number;
}

/** A topic that holds 10 GiB, made when they are read, and an account of what of it is held. */
class Backlog {
  readonly cluster = new FakeCluster();
  readonly #parts: Part[][];
  fetchedBytes = 0;
  heldBytes = 0;
  heldMaxBytes = 0;
  doneCount = 0;

  constructor(partitions: number, recordBytes: number) {
    this.cluster.createTopic('in', partitions);
    this.#parts = Array.from({ length: partitions }, () => []);
    const recordCount = Math.max(1, Math.floor(BATCH_BYTES / recordBytes));
    const value = 'x'.repeat(recordBytes);
    const batch = encodeBatch(Array.from({ length: recordCount }, () => ({ key: 'k', value })));
    const batchCount = Math.ceil(LAG_BYTES / partitions / batch.length);
    for (let partition = 0; partition < partitions; partition++) {
      const log = this.cluster.log('in', partition);
      log.endOffset = BigInt(batchCount * recordCount);
      log.read = (offset, maxBytes) => {
        if (offset >= log.endOffset) return { records: Buffer.alloc(0), nextOffset: offset };
        const count = Math.max(1, Math.floor(maxBytes / batch.length));
        const records = Buffer.concat(Array.from({ length: count }, () => batch));
        let nextOffset = offset;
        for (let i = 0; i < count; i++) {
          // The checksum does not cover the base offset.
          records.writeBigInt64BE(nextOffset, i * batch.length);
          nextOffset += BigInt(recordCount);
        }
        this.#fetched(partition, { bytes: records.length, recordCount: count * recordCount });
        return { records, nextOffset };
      };
    }
  }

  done(partition: number): void {
    this.doneCount++;
    const [part] = this.#parts[partition] as [Part];
    if (--part.recordCount > 0) return;
    this.#parts[partition]?.shift();
    this.heldBytes -= part.bytes;
  }

  #fetched(partition: number, part: Part): void {
    this.#parts[partition]?.push(part);
    this.fetchedBytes += part.bytes;
    this.heldBytes += part.bytes;
    this.heldMaxBytes = Math.max(this.heldMaxBytes, this.heldBytes);
  }
}

function slow(clock: FakeClock, backlog: Backlog): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', { key: serdes.string(), value: serdes.string() })
    .process<string, string>(() => ({
      init(context) {
        const partition = Number(context.taskId.split('_')[1]);
        this.process = () =>
          new Promise<void>((resolve) => {
            clock.setTimer(RECORD_MS, () => {
              backlog.done(partition);
              resolve();
            });
          });
      },
      process: () => undefined,
    }));
  return builder.build();
}

async function run(
  backlog: Backlog,
  forMs: number,
  config: StreamsConfigInput = {},
): Promise<void> {
  const clock = new FakeClock();
  const topology = slow(clock, backlog);
  const harness = await startHarness({ topology, cluster: backlog.cluster, clock, config });
  await clock.advance(forMs);
  // The record in hand is finished first.
  const closed = harness.streams.close();
  await clock.advance(RECORD_MS);
  expect(await closed).toBe(true);
}

describe('173: a function that is slower than its input (kafkajs#526)', () => {
  it('keeps memory flat over 10 GiB of small records', async () => {
    const backlog = new Backlog(1, 100);
    await run(backlog, 3_000);
    expect(backlog.doneCount).toBeGreaterThan(2_900);
    expect(backlog.heldMaxBytes).toBeGreaterThan(QUEUE_SHARE_MAX_BYTES);
    // More than buffered.records.per.partition, so its share is enough.
    expect(backlog.heldMaxBytes).toBeLessThanOrEqual(QUEUE_SHARE_MAX_BYTES + FETCH_BYTES);
  });

  it('keeps memory flat over 10 GiB of large records, of which two shares are few', async () => {
    const backlog = new Backlog(1, 40_000);
    await run(backlog, 3_000);
    // Twenty times what may be held has gone through.
    expect(backlog.fetchedBytes).toBeGreaterThan(100_000_000);
    expect(backlog.heldMaxBytes).toBeGreaterThan(QUEUE_SHARE_MAX_BYTES + FETCH_BYTES);
    expect(backlog.heldMaxBytes).toBeLessThanOrEqual(2 * QUEUE_SHARE_MAX_BYTES + FETCH_BYTES);
  });

  it('ends prefetching at a share where buffered.records.per.partition is small', async () => {
    const backlog = new Backlog(1, 40_000);
    await run(backlog, 1_000, { 'buffered.records.per.partition': 10 });
    expect(backlog.heldMaxBytes).toBeLessThanOrEqual(QUEUE_SHARE_MAX_BYTES + FETCH_BYTES);
  });

  it('keeps within the bound of the thread, however many partitions share it', async () => {
    const backlog = new Backlog(600, 20_000);
    await run(backlog, 10);
    expect(backlog.doneCount).toBeGreaterThan(5_000);
    expect(backlog.heldMaxBytes).toBeLessThanOrEqual(3 * INPUT_BUFFER_MAX_BYTES);
  }, 60_000);
});
