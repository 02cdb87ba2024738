import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  FakeClock,
  LogDir,
  parseLogConfig,
  type Clock,
  type Log,
  type LogConfig,
} from '@millrace/compaction';
import { BatchIterator, RecordCursor } from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingForJava } from '../support/kafka/jars.ts';
import { LogOracle } from '../support/log-oracle.ts';
import { logStateOf, type LogStateAnswer } from '../support/log-state.ts';
import { historyOf, T0, type Step } from './log-history.ts';
import { applyStep } from './apply-history.ts';

const missing = missingForJava();
const NOW = T0 + 10_000_000;
const SETTINGS = { 'segment.bytes': '3000', 'index.interval.bytes': '200', 'retention.ms': '-1' };

interface Verified {
  readonly ok: boolean;
  readonly mismatches: readonly string[];
}

interface DumpedRecord {
  readonly offset: number;
  readonly timestamp: number;
  readonly key: string | null;
  readonly value: string | null;
  readonly headers?: readonly (readonly [string, string | null])[];
}

function config(settings: Record<string, string>): LogConfig {
  const entries = Object.entries(settings).map(
    ([name, value]) => [name === 'segment.bytes' ? 'internal.segment.bytes' : name, value] as const,
  );
  return parseLogConfig(new Map(entries));
}

async function openDir(
  root: string,
  settings: Record<string, string>,
  clock: Clock,
): Promise<LogDir> {
  return LogDir.open(root, { clock, configOf: () => config(settings) });
}

function stateIn(answer: LogStateAnswer): LogStateAnswer {
  const { logStartOffset, logEndOffset, highWatermark, lastStableOffset } = answer;
  const { segments, producers, leaderEpochs } = answer;
  return {
    logStartOffset,
    logEndOffset,
    highWatermark,
    lastStableOffset,
    segments,
    producers,
    leaderEpochs,
  };
}

/**
 * After a kill Kafka knows a producer's last batch only, with the time of a marker that came after it;
 * we know all that it may repeat, with their own times.
 */
function withLastBatches(state: LogStateAnswer): LogStateAnswer {
  return {
    ...state,
    producers: state.producers.map((producer) => ({
      ...producer,
      batches: producer.batches.slice(-1).map((batch) => ({ ...batch, timestamp: null })),
    })),
  };
}

/** Every record on disk, control records too, as `dump` shows them. */
function recordsOf(directory: string): DumpedRecord[] {
  const records: DumpedRecord[] = [];
  const cursor = new RecordCursor();
  for (const name of readdirSync(directory)
    .filter((one) => one.endsWith('.log'))
    .sort()) {
    const batches = new BatchIterator(readFileSync(join(directory, name)));
    for (let batch = batches.next(); batch; batch = batches.next()) {
      batch.ensureValid();
      cursor.open(batch);
      while (cursor.next()) {
        records.push({
          offset: Number(cursor.offset()),
          timestamp: cursor.timestamp,
          key: cursor.key()?.toString('hex') ?? null,
          value: cursor.value()?.toString('hex') ?? null,
          headers: cursor
            .headers()
            .toArray()
            .map(({ key, value }) => [key, value?.toString('hex') ?? null] as const),
        });
      }
    }
  }
  return records;
}

const title = "a log directory, judged by Kafka's own classes";
describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  let oracle: LogOracle;
  let root: string;

  beforeAll(async () => {
    oracle = await LogOracle.start();
    root = mkdtempSync(join(tmpdir(), 'log-oracle-'));
  }, 300_000);

  afterAll(async () => {
    await oracle.close();
    rmSync(root, { recursive: true });
  });

  async function writeOurs(
    data: string,
    steps: readonly Step[],
  ): Promise<{ dir: LogDir; log: Log }> {
    const clock = new FakeClock(T0);
    const dir = await openDir(data, SETTINGS, clock);
    const log = dir.createLog('t', 0, null, config(SETTINGS));
    for (const step of steps) applyStep(log, clock, step);
    return { dir, log };
  }

  for (let seed = 1; seed <= 6; seed++) {
    describe(`random history ${String(seed)}`, () => {
      const steps = historyOf(seed, { codecs: seed % 2 === 0 });

      it('that we write passes its tools and loads with our state after a clean shutdown', async () => {
        const data = join(root, `ours-clean-${String(seed)}`);
        const { dir } = await writeOurs(data, steps);
        await dir.close();
        const partition = join(data, 't-0');
        expect(await oracle.ask<Verified>({ cmd: 'verify', dir: partition })).toMatchObject({
          ok: true,
          mismatches: [],
        });
        const copy = join(root, `ours-clean-copy-${String(seed)}`);
        cpSync(data, copy, { recursive: true });
        const again = await openDir(copy, SETTINGS, new FakeClock(NOW));
        const ours = logStateOf(again.log('t', 0) as Log);
        await again.close();
        const theirs = await oracle.ask<LogStateAnswer>({
          cmd: 'load',
          dir: partition,
          nowMs: NOW,
          recoveryPoint: ours.logEndOffset,
          config: SETTINGS,
        });
        expect(stateIn(theirs)).toEqual(ours);
      });

      it('that we write loads with our state after a kill', async () => {
        const data = join(root, `ours-killed-${String(seed)}`);
        const { dir, log } = await writeOurs(data, steps);
        const killed = join(root, `ours-killed-copy-${String(seed)}`);
        const judged = join(root, `ours-killed-judged-${String(seed)}`);
        cpSync(data, killed, { recursive: true });
        cpSync(data, judged, { recursive: true });
        const before = logStateOf(log);
        await dir.close();
        const again = await openDir(killed, SETTINGS, new FakeClock(NOW));
        const ours = logStateOf(again.log('t', 0) as Log);
        await again.close();
        const theirs = await oracle.ask<LogStateAnswer>({
          cmd: 'load',
          dir: join(judged, 't-0'),
          nowMs: NOW,
          cleanShutdown: false,
          config: SETTINGS,
        });
        expect(withLastBatches(stateIn(theirs))).toEqual(withLastBatches(ours));
        expect(ours.producers).toEqual(before.producers);
        expect(ours.logEndOffset).toBe(before.logEndOffset);
        expect(ours.lastStableOffset).toBe(before.lastStableOffset);
      });

      it('that Kafka writes is opened with its state and its records', async () => {
        const data = join(root, `theirs-${String(seed)}`);
        const partition = join(data, 't-0');
        const request = { dir: partition, nowMs: T0, config: SETTINGS };
        const written = await oracle.ask<LogStateAnswer>({
          cmd: 'write',
          ...request,
          batches: steps,
        });
        const dumped = await oracle.ask<{
          segments: { batches: { records: DumpedRecord[] }[] }[];
        }>({ cmd: 'dump', dir: partition });
        const copy = join(root, `theirs-copy-${String(seed)}`);
        cpSync(data, copy, { recursive: true });
        const theirs = await oracle.ask<LogStateAnswer>({
          cmd: 'load',
          ...request,
          nowMs: NOW,
          cleanShutdown: false,
        });
        const dir = await openDir(copy, SETTINGS, new FakeClock(NOW));
        const ours = logStateOf(dir.log('t', 0) as Log);
        await dir.close();
        expect(withLastBatches(ours)).toEqual(withLastBatches(stateIn(theirs)));
        expect(ours.logEndOffset).toBe(written.logEndOffset);
        const expected = dumped.segments
          .flatMap((segment) => segment.batches)
          .flatMap((batch) => batch.records)
          .map(({ offset, timestamp, key, value, headers }) => ({
            offset,
            timestamp,
            key,
            value,
            headers: headers ?? [],
          }));
        expect(recordsOf(join(copy, 't-0'))).toEqual(expected);
      });

      it.skipIf(seed % 2 === 0)(
        'gives the same bytes in every file, whoever writes it',
        async () => {
          const theirs = join(root, `bytes-theirs-${String(seed)}`, 't-0');
          await oracle.ask({
            cmd: 'write',
            dir: theirs,
            nowMs: T0,
            config: SETTINGS,
            batches: steps,
          });
          const data = join(root, `bytes-ours-${String(seed)}`);
          const { dir } = await writeOurs(data, steps);
          await dir.close();
          const names = (folder: string): string[] =>
            readdirSync(folder)
              .filter((name) => !name.startsWith('partition.'))
              .sort();
          expect(names(join(data, 't-0'))).toEqual(names(theirs));
          for (const name of names(theirs)) {
            // The order of producers in a snapshot is a hash map's.
            if (name.endsWith('.snapshot')) continue;
            const ours = readFileSync(join(data, 't-0', name));
            expect(ours.equals(readFileSync(join(theirs, name))), name).toBe(true);
          }
        },
      );
    });
  }
});
