/** Global stores on disk: over restarts, and over everything that makes what is there useless. */
import {
  closeSync,
  cpSync,
  existsSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeControlBatch } from '@millrace/protocol';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import type { FixedKeyProcessorContext } from '../operators/processor-api.ts';
import type { RestoreProgress } from '../restore/progress.ts';
import { serdes } from '../serdes/serdes.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import { stores } from '../state/stores.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { createHarness, type Harness } from '../testing-support/harness.ts';
import type { Topology } from '../topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const ASK = 'orders';
const INTERVAL_MS = 30_000;

let stateDir: string;
let cluster: FakeCluster;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'millrace-global-'));
  cluster = new FakeCluster();
  cluster.createTopic('customers', 2);
  cluster.createTopic('names', 1);
  cluster.createTopic(ASK, 1);
  cluster.createTopic('out', 1);
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

interface Running extends Harness {
  readonly progress: readonly RestoreProgress[];
  readonly warnings: readonly string[];
}

async function start(topology: Topology, config: Record<string, unknown> = {}): Promise<Running> {
  const warnings: string[] = [];
  const logger = pino(
    { level: 'warn' },
    { write: (line: string) => void warnings.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const harness = createHarness({
    topology,
    cluster,
    config: { 'state.dir': stateDir, 'dsl.store.suppliers.class': 'persistent', ...config },
    options: { logger },
  });
  const progress: RestoreProgress[] = [];
  harness.streams.restore$.subscribe((event) => progress.push(event));
  await harness.streams.start();
  await harness.clock.advance(0);
  expect(harness.streams.state).toBe('RUNNING');
  return { ...harness, progress, warnings };
}

/** Answers a question, a key, with the row of `customers` that it has, and with that of `names`. */
function twoTables(type?: 'inMemory'): Topology {
  const builder = new StreamsBuilder();
  const customers = builder.globalTable('customers', { ...strings, store: 'customers', type });
  const names = builder.globalTable('names', { ...strings, store: 'names', type });
  builder
    .stream(ASK, strings)
    .leftJoin(
      customers,
      (key) => key,
      (_, row) => String(row),
    )
    .leftJoin(
      names,
      (key) => key,
      (row, name) => `${row} ${String(name)}`,
    )
    .to('out', strings);
  return builder.build();
}

function write(topic: string, partition: number, ...rows: [string, string | null][]): void {
  cluster.log(topic, partition).write(rows.map(([key, value]) => ({ key, value })));
  cluster.changed(topic, partition);
}

async function ask({ clock }: Harness, ...keys: string[]): Promise<(string | undefined)[]> {
  const before = cluster.log('out').records().length;
  write(ASK, 0, ...keys.map((key): [string, string] => [key, 'x']));
  await clock.advance(INTERVAL_MS);
  const records = cluster.log('out').records().slice(before);
  return records.map(({ value }) => value?.toString());
}

/** By topic and partition: where the restoration began, and what it read. */
function restored({ progress }: Running): Record<string, [start: number, records: number]> {
  const ends = progress.filter(({ kind }) => kind === 'end');
  return Object.fromEntries(
    ends.map(({ topic, partition, startOffset, restoredRecords }) => [
      `${topic}-${String(partition)}`,
      [Number(startOffset), restoredRecords],
    ]),
  );
}

/** As after `kill -9`: what was on disk at some moment, elsewhere. */
function copyOfState(): string {
  const copy = mkdtempSync(join(tmpdir(), 'millrace-global-'));
  cpSync(stateDir, copy, { recursive: true });
  return copy;
}

/** All but LMDB's own: whoever reads a row finds that it is none. */
function overwritePages(path: string): void {
  const file = openSync(path, 'r+');
  const zeros = Buffer.alloc(fstatSync(file).size - 2 * 4_096);
  writeSync(file, zeros, 0, zeros.length, 2 * 4_096);
  closeSync(file);
}

const globalPath = (name = ''): string => join(stateDir, 'app', 'global', name);

describe('global stores on disk', () => {
  it('go on where they stopped', async () => {
    write('customers', 0, ['a', '1'], ['b', '2']);
    write('customers', 1, ['c', '3']);
    const first = await start(twoTables());
    expect(restored(first)).toEqual({
      'customers-0': [0, 2],
      'customers-1': [0, 1],
      'names-0': [0, 0],
    });
    write('customers', 1, ['d', '4'], ['c', null]);
    await first.clock.advance(10);
    expect(await first.streams.close()).toBe(true);

    write('customers', 0, ['a', '5'], ['b', null]);
    write('names', 0, ['a', 'Ann']);
    const second = await start(twoTables());
    expect(restored(second)).toEqual({
      'customers-0': [2, 2],
      'customers-1': [3, 0],
      'names-0': [0, 1],
    });
    expect(await ask(second, 'a', 'b', 'c', 'd')).toEqual([
      '5 Ann',
      'null null',
      'null null',
      '4 null',
    ]);
    expect(second.warnings).toEqual([]);
    expect(await second.streams.close()).toBe(true);
  });

  it('are in memory where the store says so', async () => {
    write('customers', 0, ['a', '1']);
    for (let starts = 0; starts < 2; starts++) {
      const running = await start(twoTables('inMemory'));
      expect(restored(running)['customers-0']).toEqual([0, 1]);
      await running.streams.close();
    }
    expect(existsSync(globalPath())).toBe(false);
  });

  it('after a kill apply again only what was not on disk yet', async () => {
    write('customers', 0, ['a', '1'], ['b', '2']);
    const first = await start(twoTables());
    // Committed, and then written: nothing else has to happen for that.
    await first.clock.advance(INTERVAL_MS);
    await sleep(200);
    write('customers', 0, ['a', '3'], ['b', null], ['c', '4']);
    await first.clock.advance(10);
    const copy = copyOfState();
    await first.streams.close();

    const second = await start(twoTables(), { 'state.dir': copy });
    expect(restored(second)['customers-0']).toEqual([2, 3]);
    expect(await ask(second, 'a', 'b', 'c')).toEqual(['3 null', 'null null', '4 null']);
    expect(second.warnings).toEqual([]);
    await second.streams.close();
    rmSync(copy, { recursive: true });
  });

  it('stand where they were stopped while they were restored', async () => {
    write('customers', 0, ['a', '1'], ['b', '2']);
    write('customers', 1, ['c', '3']);
    const log = cluster.log('customers', 1);
    const { read } = log;
    // One partition does not come to its end.
    log.read = (offset) => ({ records: Buffer.alloc(0), nextOffset: offset });
    const first = createHarness({
      topology: twoTables(),
      cluster,
      config: { 'state.dir': stateDir, 'dsl.store.suppliers.class': 'persistent' },
    });
    const started = first.streams.start();
    await first.clock.advance(10);
    await sleep(100);
    await first.clock.advance(10);
    expect(await first.streams.close()).toBe(true);
    await started;

    log.read = read;
    const second = await start(twoTables());
    expect(restored(second)).toMatchObject({ 'customers-0': [2, 0], 'customers-1': [0, 1] });
    expect(await ask(second, 'a', 'c')).toEqual(['1 null', '3 null']);
    await second.streams.close();
  });

  it.each(['read_uncommitted', 'read_committed'])(
    'KAFKA-12951: are complete when the topic ends in a transaction marker, and stand behind it: %s',
    async (level) => {
      const config = { 'global.consumer.isolation.level': level };
      write('names', 0, ['a', '1'], ['b', '2']);
      cluster.log('names').append(
        encodeControlBatch({
          baseOffset: 0n,
          producerId: 1n,
          producerEpoch: 0,
          type: 'commit',
          coordinatorEpoch: 0,
          timestamp: 0,
          leaderEpoch: 0,
        }),
      );
      await (await start(twoTables(), config)).streams.close();
      // Behind what only readers of uncommitted records see, nothing was created anew.
      write('names', 0, ['a', 'later']);
      cluster.log('names').lastStableOffset = 2n;
      const second = await start(twoTables(), config);
      expect(restored(second)).toMatchObject({
        'names-0': [3, level === 'read_committed' ? 0 : 1],
      });
      expect(second.warnings).toEqual([]);
      await second.streams.close();
    },
  );

  it.each([
    ['fewer', [['a', 'new']]],
    [
      'more',
      [
        ['x', 'y'],
        ['a', 'new'],
        ['x', 'z'],
        ['x', 'y'],
      ],
    ],
  ] as [string, [string, string][]][])(
    'of a topic that was created anew, with %s records, are wiped, those of another one stay',
    async (_, rows) => {
      write('customers', 0, ['a', 'old'], ['b', 'old']);
      write('names', 0, ['a', 'Ann']);
      await (await start(twoTables())).streams.close();
      cluster.deleteTopic('customers');
      cluster.createTopic('customers', 1);
      write('customers', 0, ...rows);

      const second = await start(twoTables());
      expect(second.warnings).toEqual([
        expect.stringMatching(/^The global store customers knows offset 2 of customers-0, but/),
      ]);
      expect(restored(second)).toEqual({
        'customers-0': [0, rows.length],
        'names-0': [1, 0],
      });
      expect(await ask(second, 'a', 'b')).toEqual(['new Ann', 'null null']);
      await second.streams.close();

      const third = await start(twoTables());
      expect(third.warnings).toEqual([]);
      expect(restored(third)['customers-0']).toEqual([rows.length, 0]);
      await third.streams.close();
    },
  );

  it('whose topic no longer has what came next are wiped', async () => {
    write('customers', 0, ['a', '1'], ['b', '2']);
    await (await start(twoTables())).streams.close();
    write('customers', 0, ['a', null], ['c', '3']);
    cluster.log('customers').deleteUpTo(3n);
    write('customers', 0, ['d', '4']);
    const second = await start(twoTables());
    expect(second.warnings).toEqual([
      expect.stringContaining('does not know what customers-0 had from 2 to'),
    ]);
    expect(await ask(second, 'a', 'b', 'd')).toEqual(['null null', 'null null', '4 null']);
    await second.streams.close();
  });

  it('take a partition that was added from its start', async () => {
    write('names', 0, ['a', 'Ann']);
    await (await start(twoTables())).streams.close();
    const grown = new FakeCluster();
    for (const topic of ['customers', 'names', ASK, 'out']) grown.createTopic(topic, 2);
    grown.log('names', 0).write([{ key: 'a', value: 'Ann' }]);
    grown.log('names', 1).write([{ key: 'b', value: 'Bob' }]);
    cluster = grown;
    const second = await start(twoTables());
    expect(restored(second)).toMatchObject({ 'names-0': [1, 0], 'names-1': [0, 1] });
    expect(await ask(second, 'a', 'b')).toEqual(['null Ann', 'null Bob']);
    await second.streams.close();
  });

  it('KAFKA-21034: of a damaged file are wiped once, and rebuilt', async () => {
    write('customers', 0, ['a', '1']);
    await (await start(twoTables())).streams.close();
    truncateSync(globalPath('0/data.mdb'), 100);
    const second = await start(twoTables());
    expect(second.warnings).toEqual([expect.stringContaining('is damaged')]);
    expect(await ask(second, 'a')).toEqual(['1 null']);
    await second.streams.close();
    const third = await start(twoTables());
    expect(third.warnings).toEqual([]);
    expect(restored(third)['customers-0']).toEqual([1, 0]);
    await third.streams.close();
  });

  it('are filled in another place when a task reads that they are damaged, and no state of its own is wiped', async () => {
    const rows = Array.from({ length: 2_000 }, (_, i): [string, string] => [`k${i}`, `v${i}`]);
    write('customers', 0, ...rows);
    await (await start(twoTables())).streams.close();
    const second = await start(twoTables());
    overwritePages(globalPath('0/data.mdb'));
    write(ASK, 0, ['k7', 'x']);
    await second.clock.advance(10);
    await sleep(100);
    await second.clock.advance(INTERVAL_MS);
    await sleep(100);
    await second.clock.advance(INTERVAL_MS);
    expect(
      cluster
        .log('out')
        .records()
        .map(({ value }) => value?.toString()),
    ).toEqual(['v7 null']);
    expect(second.warnings).toContain('the global stores are damaged: they are restored anew');
    expect(second.streams.state).toBe('RUNNING');
    expect(await second.streams.close()).toBe(true);
    expect(readdirSync(globalPath()).sort()).toEqual(['1', 'current']);
  });

  it('are filled in another place when the position gets out of range, and go on from that one', async () => {
    write('customers', 0, ['a', '1']);
    const first = await start(twoTables());
    write('customers', 0, ['a', null]);
    cluster.log('customers', 0).deleteUpTo(2n);
    write('customers', 0, ['b', '2']);
    await first.clock.advance(10);
    await sleep(100);
    await first.clock.advance(10);
    expect(await ask(first, 'a', 'b')).toEqual(['null null', '2 null']);
    expect(first.warnings).toEqual([expect.stringContaining('is out of range')]);
    expect(await first.streams.close()).toBe(true);
    expect(readdirSync(globalPath()).sort()).toEqual(['1', 'current']);

    write('customers', 0, ['c', '3']);
    const second = await start(twoTables());
    expect(restored(second)['customers-0']).toEqual([3, 1]);
    expect(await ask(second, 'a', 'b', 'c')).toEqual(['null null', '2 null', '3 null']);
    await second.streams.close();
  });

  it('KAFKA-7663: hold what their processor made of the topic, and get the rest through it', async () => {
    const shouted = (): Topology => {
      const builder = new StreamsBuilder();
      const store = stores.keyValue<string, string>({ name: 'loud', ...strings, caching: true });
      builder.addGlobalStore(store, 'names', strings, () => {
        let loud: KeyValueStore<string, string>;
        return {
          init(context) {
            loud = context.getStateStore('loud');
          },
          process({ key, value }) {
            loud.put(key, value.toUpperCase());
          },
        };
      });
      builder
        .stream(ASK, strings)
        .processValues<string>(() => {
          let context: FixedKeyProcessorContext<string, string>;
          let loud: KeyValueStore<string, string>;
          return {
            init(given) {
              context = given;
              loud = context.getStateStore('loud');
            },
            process: (record) => context.forward(record.withValue(loud.get(record.key) ?? 'none')),
          };
        })
        .to('out', strings);
      return builder.build();
    };
    write('names', 0, ['a', 'Ann']);
    // No cache stands before a global store, whatever its builder says.
    const config = { 'statestore.cache.max.bytes': 1_000_000 };
    await (await start(shouted(), config)).streams.close();
    write('names', 0, ['b', 'Bob']);
    const second = await start(shouted(), config);
    expect(restored(second)).toEqual({ 'names-0': [1, 1] });
    expect(await ask(second, 'a', 'b', 'c')).toEqual(['ANN', 'BOB', 'none']);
    await second.streams.close();
  });

  it('stay when state of tasks is cleaned up, and go with cleanUp()', async () => {
    write('customers', 0, ['a', '1']);
    const config = { 'state.cleanup.dir.max.age.ms': 0, 'state.cleanup.delay.ms': 0 };
    const first = await start(twoTables(), config);
    await first.clock.advance(INTERVAL_MS);
    await first.streams.close();
    const second = await start(twoTables(), config);
    await second.clock.advance(INTERVAL_MS);
    expect(restored(second)['customers-0']).toEqual([1, 0]);
    await second.streams.close();
    await second.streams.cleanUp();
    expect(existsSync(globalPath())).toBe(false);
  });
});
