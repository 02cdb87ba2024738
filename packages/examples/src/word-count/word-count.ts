import { readFileSync } from 'node:fs';
import {
  readTopic,
  serdes,
  StreamsBuilder,
  TopicWriter,
  type StreamsClient,
  type Topology,
} from '@millrace/runtime';

export const WORD_COUNT_APPLICATION_ID = 'word-count';
export const LINES_TOPIC = 'text-lines';
export const WORD_REPARTITION_TOPIC = `${WORD_COUNT_APPLICATION_ID}-words-repartition`;
const COUNTS_TOPIC = 'word-counts';

const wordSerde = serdes.string();
const countSerde = serdes.long();

/** Splits lines into words, brings equal words together, and counts them. */
export function wordCountTopology(): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream(LINES_TOPIC, { key: serdes.void(), value: serdes.string() })
    .flatMapValues(wordsOf, { value: wordSerde })
    .groupBy((_key, word) => word, { name: 'words', key: wordSerde })
    .count({ store: 'word-counts' })
    .toStream()
    .to(COUNTS_TOPIC);
  return builder.build();
}

/** Lower case; an apostrophe belongs to its word, a hyphen parts two. */
function wordsOf(line: string): string[] {
  return line.toLowerCase().match(/\p{L}[\p{L}’']*/gu) ?? [];
}

/** Lincoln's address at Gettysburg, 1863. */
export function readLines(): string[] {
  // From the package's root, because the build copies no text files.
  const file = new URL('../../src/word-count/gettysburg-address.txt', import.meta.url);
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
}

/** Creates both topics and writes the text, a record a line, without keys. */
export async function loadLines(client: StreamsClient): Promise<number> {
  await client.admin().createTopics(
    [LINES_TOPIC, COUNTS_TOPIC].map((topic) => ({
      topic,
      partitionCount: 2,
      replicationFactor: -1,
      config: new Map<string, string>(),
    })),
  );
  const lines = readLines();
  const topic = { topic: LINES_TOPIC, key: serdes.void(), value: serdes.string() };
  const writer = await TopicWriter.open(client, topic);
  const timestamp = Date.now();
  for (const line of lines) writer.send(null, line, { timestamp });
  await writer.close();
  return lines.length;
}

/** What a consumer of the output topic knows: the latest count per word, the most frequent first. */
export async function readCounts(client: StreamsClient): Promise<Map<string, number>> {
  const latest = new Map<string, number>();
  const topic = { topic: COUNTS_TOPIC, key: wordSerde, value: countSerde };
  for await (const records of readTopic(client, topic)) {
    for (const { key, value } of records) {
      if (key !== null && value !== null) latest.set(key, value);
    }
  }
  const byCount = ([a, m]: [string, number], [b, n]: [string, number]): number =>
    n - m || (a < b ? -1 : 1);
  return new Map([...latest].sort(byCount));
}
