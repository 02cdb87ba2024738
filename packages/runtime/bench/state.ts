/**
 * Random read-modify-write on a persistent store, as an aggregation does it, with commits and with the
 * way to disk in the background. One line a case.
 *
 *   node packages/runtime/bench/run.js state [--keys N] [--records N] [--commit MS]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { serdes } from '../src/public-dsl.ts';
import { longSerde } from '../src/serdes/numbers.ts';
import { toRecordSerde } from '../src/serdes/custom-serde.ts';
import { SPILL_BYTES } from '../src/state/limits.ts';
import { StateEnvironment } from '../src/state/persistent/environment.ts';
import { PersistentKeyValueStore } from '../src/state/persistent/persistent-key-value-store.ts';

function option(name: string, fallback: number): number {
  const index = process.argv.indexOf(`--${name}`);
  return index < 0 ? fallback : Number(process.argv[index + 1]);
}

const keys = option('keys', 1_000_000);
const records = option('records', 2_000_000);
const commitMs = option('commit', 500);
const directory = mkdtempSync(join(tmpdir(), 'millrace-state-'));
const environment = StateEnvironment.open({ directory, taskId: '0_0', tableCount: 1 });
const serde = toRecordSerde(serdes.string(), 'bench');
const store = new PersistentKeyValueStore('counts', serde, longSerde);
const context = { diskOf: () => environment };
store.open(context as unknown as Parameters<typeof store.open>[0], null);

const delay = monitorEventLoopDelay({ resolution: 5 });
for (const round of ['fill', 'update']) {
  delay.enable();
  const cpu = process.cpuUsage();
  const start = performance.now();
  let committed = start;
  let spilling: Promise<void> | null = null;
  let spills = 0;
  for (let i = 0; i < records; i++) {
    const key = `key-${String((i * 7_919) % keys)}`;
    const old = store.get(key) ?? 0;
    store.put(key, old + 1, Math.max(i, store.foundTimestamp));
    if (i % 4_096 !== 0) continue;
    await nextTurn();
    const now = performance.now();
    if (now - committed < commitMs) continue;
    committed = now;
    store.commit(BigInt(i));
    if (spilling !== null && store.unspilledBytes > 2 * SPILL_BYTES) await spilling;
    if (spilling !== null || store.unspilledBytes < SPILL_BYTES) continue;
    spills++;
    spilling = store.spill().finally(() => (spilling = null));
  }
  const seconds = (performance.now() - start) / 1_000;
  await spilling;
  store.commit(BigInt(records));
  const closing = performance.now();
  await store.spill();
  const { user, system } = process.cpuUsage(cpu);
  console.log(
    JSON.stringify({
      round,
      keys,
      recordsPerSecond: Math.round(records / seconds),
      cpuMicrosPerRecord: Math.round(((user + system) / records) * 100) / 100,
      spills,
      lastSpillMs: Math.round(performance.now() - closing),
      maxDelayMs: Math.round(delay.max / 1e6),
      rssMb: Math.round(process.memoryUsage.rss() / 2 ** 20),
    }),
  );
  delay.reset();
}
store.close();
await environment.close();
rmSync(directory, { recursive: true, force: true });
