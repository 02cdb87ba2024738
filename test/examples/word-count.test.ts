import { temporaryDirectory } from '../support/temporary-directory.ts';
import {
  LINES_TOPIC,
  loadLines,
  readCounts,
  readLines,
  runToEnd,
  WORD_COUNT_APPLICATION_ID,
  WORD_REPARTITION_TOPIC,
  wordCountTopology,
} from '@millrace/examples';
import { expect, it } from 'vitest';
import { describeOnBothBrokers } from '../support/brokers.ts';
import { clusterAt, logger } from './cluster.ts';

function countsOfText(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of readLines()
    .join(' ')
    .toLowerCase()
    .split(/[^a-z']+/)) {
    if (word !== '') counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

describeOnBothBrokers('word count', (broker) => {
  it('counts the words of the text', { timeout: 60_000 }, async () => {
    const cluster = await clusterAt(broker().bootstrapServers);
    expect(await loadLines(cluster.client)).toBe(3);
    await runToEnd({
      topology: wordCountTopology(),
      config: {
        'application.id': WORD_COUNT_APPLICATION_ID,
        'bootstrap.servers': cluster.bootstrapServers,
        'state.dir': temporaryDirectory(),
        'commit.interval.ms': '100ms',
      },
      streamsOptions: { logger },
      client: cluster.client,
      topics: [LINES_TOPIC, WORD_REPARTITION_TOPIC],
      signal: new AbortController().signal,
    });
    const counts = await readCounts(cluster.client);
    expect(new Map([...counts].sort())).toEqual(new Map([...countsOfText()].sort()));
    expect([...counts][0]).toEqual(['that', 13]);
  });
});
