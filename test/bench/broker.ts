import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { BrokerProcess } from '../chaos/broker-process.ts';
import { startKafka } from '../support/kafka/start-kafka.ts';
import type { BrokerLoadResult } from './broker-load-app.ts';
import { type Figure, figure, print } from './figure.ts';
import type { BenchOptions, Suite } from './suite.ts';

const RECORDS = 3_000_000;
/** Of the records that are counted: before them Java has not compiled its code. */
const WARM_UP_PART = 3;
const RECORDS_PER_LATENCY_REQUEST = 300;
const IDLE_MS = 20_000;
const SETTLE_MS = 5_000;
const KIB_PER_MIB = 1_024;
const TICKS_PER_SECOND = 100;
const execute = promisify(execFile);
const app = join(dirname(fileURLToPath(import.meta.url)), 'broker-load-app.js');

interface Subject {
  readonly port: number;
  readonly pid: number;
  close(): Promise<void>;
}

interface Row {
  readonly unit: string;
  readonly better: 'higher' | 'lower';
  measure(subject: Subject, records: number): Promise<number>;
}

const rows: Readonly<Record<string, Row>> = {
  'broker/produce/1': {
    unit: 'records/s',
    better: 'higher',
    measure: ({ port }, records) => load(port, 'produce', records, 1),
  },
  'broker/produce/8': {
    unit: 'records/s',
    better: 'higher',
    measure: ({ port }, records) => load(port, 'produce', records, 8),
  },
  'broker/fetch': {
    unit: 'records/s',
    better: 'higher',
    measure: ({ port }, records) => load(port, 'fetch', records, 1),
  },
  'broker/latency': {
    unit: 'ms',
    better: 'lower',
    measure: ({ port }, records) =>
      load(port, 'latency', Math.ceil(records / RECORDS_PER_LATENCY_REQUEST), 1),
  },
  'broker/rss': {
    unit: 'MiB',
    better: 'lower',
    measure: ({ pid }) => Promise.resolve(residentKib(pid) / KIB_PER_MIB),
  },
  'broker/idle': {
    unit: '% of a core',
    better: 'lower',
    measure: ({ pid }) => idlePercent(pid),
  },
};

/**
 * The embedded broker and Kafka 4.4 under the same load from the same client, each alone on the machine, in
 * turn: acks=all, 100-byte values, batches of 16 KiB, five requests in flight on a connection. Memory and
 * idling are looked at after all the rows that put load on it.
 */
export const broker: Suite = {
  rows: Object.keys(rows),

  async measure(names: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
    const records = options.records ?? RECORDS;
    const ours = new Map(names.map((name) => [name, [] as number[]]));
    const theirs = new Map(names.map((name) => [name, [] as number[]]));
    for (let round = 0; round < options.rounds; round++) {
      await measureAll(startOurs, ours, records);
      await measureAll(startTheirs, theirs, records);
    }
    return names.map((name) => {
      const { unit, better } = rows[name] as Row;
      return print(figure(name, ours.get(name) ?? [], theirs.get(name) ?? [], unit, better));
    });
  },
};

async function measureAll(
  start: () => Promise<Subject>,
  values: ReadonlyMap<string, number[]>,
  records: number,
): Promise<void> {
  const subject = await start();
  try {
    await load(subject.port, 'produce', Math.ceil(records / WARM_UP_PART), 1);
    await load(subject.port, 'fetch', Math.ceil(records / WARM_UP_PART), 1);
    for (const [name, row] of Object.entries(rows)) {
      values.get(name)?.push(await row.measure(subject, records));
    }
  } finally {
    await subject.close();
  }
}

async function startOurs(): Promise<Subject> {
  const dataDir = mkdtempSync(join(tmpdir(), 'millrace-bench-broker-'));
  const started = await BrokerProcess.start({ dataDir });
  return {
    port: started.port,
    pid: started.pid,
    async close() {
      await started.kill();
      rmSync(dataDir, { recursive: true, force: true });
      if (started.faults.length > 0) throw new Error(started.faults.join('\n'));
    },
  };
}

async function startTheirs(): Promise<Subject> {
  const kafka = await startKafka({ purpose: 'bench' });
  return {
    port: Number(kafka.bootstrapServers.split(':').at(-1)),
    pid: kafka.pid(1),
    close: () => kafka.close(),
  };
}

async function load(
  port: number,
  kind: string,
  count: number,
  connections: number,
): Promise<number> {
  const args = [app, kind, String(port), String(count), String(connections)];
  const { stdout } = await execute(process.execPath, args);
  return (JSON.parse(stdout) as BrokerLoadResult).value;
}

function residentKib(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (found === null) throw new Error(`process ${pid} has no memory`);
  return Number(found[1]);
}

async function idlePercent(pid: number): Promise<number> {
  await sleep(SETTLE_MS);
  const before = cpuTicks(pid);
  await sleep(IDLE_MS);
  return ((cpuTicks(pid) - before) / TICKS_PER_SECOND / (IDLE_MS / 1_000)) * 100;
}

/** Processor time of a process, user and system. */
function cpuTicks(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in parentheses may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
