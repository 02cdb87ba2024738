/** Bugs that users of other stream processors hit with windows, suppression and time; the number is the report's. */
import {
  logAndSkipOnInvalidTimestamp,
  serdes,
  StreamsBuilder,
  timeWindows,
  type TimestampExtractor,
  untilTimeLimit,
  untilWindowCloses,
  usePartitionTimeOnInvalidTimestamp,
} from '@millrace/runtime';
import { describe, expect, it } from 'vitest';
import { drive, numbers, texts } from './topologies.ts';

const HOUR_MS = 3_600_000;
const minute = serdes.timeWindowed(serdes.string(), 60_000);

describe('windows and suppression', () => {
  it('17, 35: windows at the bounds of a fetch are found, and backward is the reverse of forward', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('in', texts)
      .groupByKey()
      .windowedBy(timeWindows({ size: 1, grace: 500 }))
      .count({ store: 'n', retention: 1_000 });
    const driver = drive(builder);
    const input = driver.createInputTopic('in', texts);
    const t = 1_666_100_000_123;
    for (const timestamp of [t, t + 10, t + 510]) await input.pipe('k', 'v', { timestamp });
    const store = driver.getWindowStore<string, number>('n');
    const starts = (from: number, to: number): number[] =>
      [...store.fetch('k', from, to)].map(({ key }) => key.start - t);
    for (const [from, to] of [
      [t, t],
      [t - 1, t],
      [t, t + 1],
      [t - 5_000, t + 5],
    ] as const) {
      expect(starts(from, to)).toEqual([0]);
    }
    expect(starts(t, t + 5_000)).toEqual([0, 10, 510]);
    const backward = [...store.backwardFetch('k', t, t + 5_000)].map(({ key }) => key.start - t);
    expect(backward).toEqual([510, 10, 0]);
    await driver.close();
  });

  it('28: a grace of more than a day keeps its windows', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('in', texts)
      .groupByKey()
      .windowedBy(timeWindows({ size: HOUR_MS, grace: 48 * HOUR_MS }))
      .count({ store: 'n' })
      .toStream()
      .to('out', { key: serdes.timeWindowed(serdes.string(), HOUR_MS), value: serdes.long() });
    const driver = drive(builder);
    const input = driver.createInputTopic('in', texts);
    await input.pipe('a', '1', { timestamp: 0 });
    await input.pipe('b', '1', { timestamp: 47 * HOUR_MS });
    await input.pipe('a', '2', { timestamp: HOUR_MS / 6 });
    const store = driver.getWindowStore<string, number>('n');
    expect(store.get('a', 0)).toBe(2);
    await driver.close();
  });

  it('29: silence closes no window; the next record of the partition does, and no other partition', async () => {
    const builder = new StreamsBuilder();
    builder
      .stream('in', texts)
      .groupByKey()
      .windowedBy(timeWindows({ size: 60_000 }))
      .count({ store: 'n' })
      .suppress(untilWindowCloses())
      .toStream()
      .to('out', { key: minute, value: serdes.long() });
    const driver = drive(builder, {}, { partitions: { in: 2 } });
    const input = driver.createInputTopic('in', texts);
    const out = driver.createOutputTopic('out', { key: minute, value: serdes.long() });
    for (const timestamp of [0, 1, 2]) await input.pipe('a', 'v', { timestamp, partition: 0 });
    await driver.advanceWallClockTime('1h');
    expect(out.isEmpty).toBe(true);
    await input.pipe('b', 'v', { timestamp: 60_000, partition: 1 });
    expect(out.isEmpty).toBe(true);
    await input.pipe('c', 'v', { timestamp: 60_000, partition: 0 });
    const closed = out.readRecords().map(({ key, value }) => [key?.key, value]);
    expect(closed).toEqual([['a', 3]]);
    await driver.close();
  });

  it('29: a grace of a day or more is hinted at, next to the text of describe(), which stays as it is', () => {
    const described = (grace: string): { text: string; hints: readonly string[] } => {
      const builder = new StreamsBuilder();
      builder
        .stream('in', texts)
        .groupByKey()
        .windowedBy(timeWindows({ size: 60_000, grace }))
        .count({ store: 'n' })
        .suppress(untilWindowCloses({ name: 'final' }))
        .toStream()
        .to('out', { key: minute, value: serdes.long() });
      const description = builder.build().describe();
      return { text: description.toString(), hints: description.hints };
    };
    const short = described('23h');
    const long = described('2d');
    expect(short.hints).toEqual([]);
    expect(long.hints).toEqual([
      expect.stringMatching(
        /^final passes on .* record comes that is 48 h later than the window's end/,
      ),
    ]);
    expect(long.text).toBe(short.text);
  });

  it('32: a time limit lets a tombstone through, a closed window without a result lets nothing through', async () => {
    const builder = new StreamsBuilder();
    builder
      .table('rows', { ...texts, store: 'rows' })
      .suppress(untilTimeLimit(10))
      .toStream()
      .to('limited');
    builder
      .stream('in', texts)
      .groupByKey()
      .windowedBy(timeWindows({ size: 10 }))
      .reduce(() => null as never, { store: 'reduced' })
      .suppress(untilWindowCloses())
      .toStream()
      .to('closed', { key: serdes.timeWindowed(serdes.string(), 10), value: serdes.string() });
    const driver = drive(builder);
    const rows = driver.createInputTopic('rows', texts);
    await rows.pipe('a', '1', { timestamp: 0 });
    await rows.pipe('a', null, { timestamp: 5 });
    await rows.pipe('z', '1', { timestamp: 16 });
    expect(driver.createOutputTopic('limited', texts).readKeyValues()).toEqual([['a', null]]);
    const input = driver.createInputTopic('in', texts);
    await input.pipe('a', '1', { timestamp: 0 });
    await input.pipe('a', '2', { timestamp: 1 });
    await input.pipe('b', '1', { timestamp: 100 });
    expect(driver.createOutputTopic('closed', texts).isEmpty).toBe(true);
    await driver.close();
  });
});

describe('bad records', () => {
  it('41: a timestamp of -1 is an error, a skipped record, or the last seen time, as was chosen', async () => {
    const run = async (timestampExtractor?: TimestampExtractor): Promise<unknown> => {
      const builder = new StreamsBuilder();
      const options = timestampExtractor === undefined ? texts : { ...texts, timestampExtractor };
      builder.stream('in', options).to('out');
      const driver = drive(builder);
      const input = driver.createInputTopic('in', texts);
      await input.pipe('a', '1', { timestamp: 7 });
      try {
        await input.pipe('a', '2', { timestamp: -1 });
      } catch (error) {
        return (error as Error).message;
      }
      const times = driver.createOutputTopic('out', texts).readRecords();
      return [driver.droppedRecordCount, times.map(({ timestamp }) => timestamp)];
    };
    expect(await run()).toMatch(/in-0 at offset 1 .*timestamp -1/);
    expect(await run(logAndSkipOnInvalidTimestamp)).toEqual([1, [7]]);
    expect(await run(usePartitionTimeOnInvalidTimestamp)).toEqual([0, [7, 7]]);
  });

  it('44: one bad record fails, is skipped, or goes to the dead letters with its origin', async () => {
    const build = (): StreamsBuilder => {
      const builder = new StreamsBuilder();
      builder.stream('in', numbers).to('out');
      return builder;
    };
    const bad = async (config: Record<string, string>): Promise<ReturnType<typeof drive>> => {
      const driver = drive(build(), config);
      await driver.createInputTopic('in', texts).pipe('k', 'no long');
      await driver.createInputTopic('in', numbers).pipe('k', 1);
      return driver;
    };
    await expect(bad({})).rejects.toMatchObject({ code: 'DESERIALIZATION_FAILED' });
    const skipped = await bad({ 'deserialization.exception.handler': 'continue' });
    expect(skipped.droppedRecordCount).toBe(1);
    expect(skipped.createOutputTopic('out', numbers).readValues()).toEqual([1]);
    await skipped.close();
    const lettered = await bad({
      'deserialization.exception.handler': 'continue',
      'errors.dead.letter.queue.topic.name': 'dead',
    });
    const letter = lettered.createOutputTopic('dead', texts).readRecord();
    expect([letter.key, letter.value]).toEqual(['k', 'no long']);
    const header = (name: string): string | undefined =>
      letter.headers.last(name)?.value?.toString();
    expect(header('__streams.errors.topic')).toBe('in');
    expect(header('__streams.errors.partition')).toBe('0');
    expect(header('__streams.errors.offset')).toBe('0');
    expect(header('__streams.errors.message')).toBeDefined();
    await lettered.close();
  });
});
