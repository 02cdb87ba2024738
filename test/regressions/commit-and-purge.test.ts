/** Bugs that users of other stream processors hit in commits and purges; the number is the report's. */
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupProgress, readTopic, serdes, StreamsBuilder, type Topology } from '@millrace/runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { eventually, Lab } from './lab.ts';
import { texts } from './topologies.ts';

let lab: Lab;
afterEach(() => lab.close());

/** First offset that the log still has, and where the group stands. */
async function progress(topic: string): Promise<{ begin: bigint; committed: bigint | null }> {
  const group = new GroupProgress(lab.client, 'app');
  try {
    const [first] = (await group.of(topic)) ?? [];
    return { begin: first?.beginOffset ?? -1n, committed: first?.committedOffset ?? null };
  } finally {
    await group.close();
  }
}

/** Re-keys, and waits for what the function promises for a value. */
function rekeyed(wait: (value: string) => unknown = () => undefined): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', texts)
    .selectKey((_, value) => value)
    .repartition({ name: 'again', ...texts })
    .peek((_, value) => wait(value))
    .to('out', texts);
  return builder.build();
}

const REPARTITION = 'app-again-repartition';

const values = (...all: string[]) => all.map((value) => ['k', value] as const);

describe('commits', () => {
  it('43: records that are skipped move the committed offset', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    const builder = new StreamsBuilder();
    const numbers = { key: serdes.string(), value: serdes.long() };
    builder.stream('in', numbers).to('out', numbers);
    const topology = builder.build();
    const app = await lab.start(topology, {
      'deserialization.exception.handler': 'continue',
    });
    await lab.write(
      'in',
      Array.from({ length: 10 }, () => ['k', 'no long value'] as const),
    );
    await eventually(async () => (await lab.committed('in')) === 10n);
    const dropped = app.streams.metrics().find(({ name }) => name === 'dropped-records-total');
    expect(dropped?.value()).toBe(10);
    expect(await app.close()).toBe(true);
    // They are not read again.
    const again = await lab.start(topology);
    await sleep(300);
    expect(again.streams.state).toBe('RUNNING');
    expect(await lab.read('out')).toEqual([]);
  });

  it('86: nothing is committed when nothing was read (KAFKA-13319)', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    const app = await lab.start(rekeyed(), { 'commit.interval.ms': 10 });
    await sleep(300);
    const commits = app.streams.metrics().find(({ name }) => name === 'commit-total');
    expect(commits?.value()).toBe(0);
    expect(await app.close()).toBe(true);
    expect(await lab.committed('in')).toBe(null);
    expect(app.loud).toEqual([]);
  });
});

describe('purges', () => {
  it('101: go up to what is committed, not to what is consumed, so that a restart loses nothing', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    let finish: () => void = () => undefined;
    const all = Array.from({ length: 100 }, (_, i) => `v${String(i)}`);
    const hold = (value: string) =>
      value === 'v60' ? new Promise<void>((resolve) => (finish = resolve)) : undefined;
    const app = await lab.start(rekeyed(hold), { 'delete.interval.ms': 10 });
    await lab.write('in', values(...all));
    await eventually(async () => (await progress(REPARTITION)).begin === 60n);
    // 100 are there and fetched; time passes.
    await sleep(300);
    expect(await progress(REPARTITION)).toEqual({ begin: 60n, committed: 60n });
    const closing = app.streams.close({ timeoutMs: 200 });
    await closing;
    finish();
    await lab.start(rekeyed(), { 'delete.interval.ms': 10 });
    await eventually(async () => (await progress(REPARTITION)).begin === 100n);
    const written = new Set((await lab.read('out')).map(({ value }) => value));
    expect([...written].sort()).toEqual([...all].sort());
  });

  it('103, 104: what a commit asked for by a processor has made deletable goes in the next interval, without further input', async () => {
    lab = await Lab.open({ in: 1, out: 1 });
    const builder = new StreamsBuilder();
    builder
      .stream('in', texts)
      .selectKey((_, value) => value)
      .repartition({ name: 'again', ...texts })
      .process<string, string>(() => ({
        init(context) {
          this.process = () => {
            context.commit();
          };
        },
        process: () => undefined,
      }));
    const app = await lab.start(builder.build(), {
      'commit.interval.ms': 400,
      'delete.interval.ms': 800,
    });
    await lab.write('in', values('a', 'b', 'c'));
    await eventually(async () => (await progress(REPARTITION)).begin === 3n);
    expect(app.loud).toEqual([]);
    for await (const records of readTopic(lab.client, { topic: REPARTITION, ...texts })) {
      expect(records).toEqual([]);
    }
  });
});
