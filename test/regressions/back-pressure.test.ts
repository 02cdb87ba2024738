/** What users of other stream processors saw of memory under a backlog; the number is the report's. */
import { StreamsBuilder, TopicWriter } from '@millrace/runtime';
import { afterEach, expect, it } from 'vitest';
import { eventually, Lab } from './lab.ts';
import { texts } from './topologies.ts';

const MIB = 1024 * 1024;
const LAG_BYTES = 192 * MIB;
const VALUE_BYTES = 16 * 1024;
const RECORD_MS = 4;
const RUN_MS = 2_000;
/** Two shares of a queue, a response, the next one, and as much garbage as V8 lets lie about. */
const HELD_MAX_BYTES = 64 * MIB;

let lab: Lab;
afterEach(() => lab.close());

it('173: a slow function keeps memory flat over a backlog of hundreds of megabytes (kafkajs#526)', async () => {
  lab = await Lab.open({ in: 1 });
  const writer = await TopicWriter.open(lab.client, { topic: 'in', ...texts });
  const value = 'x'.repeat(VALUE_BYTES);
  for (let i = 0; i < LAG_BYTES / VALUE_BYTES; i++) {
    writer.send('k', value, { timestamp: Date.now() });
    if (writer.isFull) await writer.drained();
  }
  await writer.close();

  let done = 0;
  const builder = new StreamsBuilder();
  builder
    .stream('in', texts)
    .peek(() => new Promise<void>((resolve) => setTimeout(resolve, RECORD_MS)))
    .foreach(() => {
      done++;
    });
  const topology = builder.build();
  const before = process.memoryUsage().arrayBuffers;
  await lab.start(topology);
  await eventually(() => done > 0);
  let heldMaxBytes = 0;
  const untilMs = performance.now() + RUN_MS;
  while (performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    heldMaxBytes = Math.max(heldMaxBytes, process.memoryUsage().arrayBuffers - before);
  }
  expect(heldMaxBytes).toBeLessThan(HELD_MAX_BYTES);
  expect(done).toBeGreaterThan(50);
  expect(done * VALUE_BYTES).toBeLessThan(LAG_BYTES / 10);
}, 30_000);
