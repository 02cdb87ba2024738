import { expect, it } from 'vitest';
import { serdes, StreamsBuilder, timeWindows, untilWindowCloses } from '@millrace/runtime';
import { TopologyTestDriver } from '@millrace/runtime/testing';

it('counts clicks per page and hour, once the hour is over', async () => {
  const text = serdes.string();
  const builder = new StreamsBuilder();
  builder
    .stream('clicks', { key: text, value: text })
    .groupBy((_user, page) => page, { key: text })
    .windowedBy(timeWindows({ size: '1h' }))
    .count()
    .suppress(untilWindowCloses())
    .toStream((window) => window.key, { key: text })
    .to('clicks-per-page');

  const driver = new TopologyTestDriver(builder.build());
  const clicks = driver.createInputTopic('clicks', { key: text, value: text });
  const counts = driver.createOutputTopic('clicks-per-page', { key: text, value: serdes.long() });

  await clicks.pipe('ann', '/home', { timestamp: 0 });
  await clicks.pipe('bob', '/home', { timestamp: 1_000 });
  expect(counts.isEmpty).toBe(true);

  await clicks.pipe('ann', '/help', { timestamp: 3_600_000 });
  expect(counts.readKeyValues()).toEqual([['/home', 2]]);
  await driver.close();
});
