import { describe, expect, it } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import { FakeClient } from '../testing-support/fake-client.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { readTopic, type TopicReaderOptions } from './topic-reader.ts';

const T = 1_700_000_000_000;

/** Two partitions: values 0 to 9 at offsets 0 to 9 and times T to T + 9, in batches of one. */
function numbers(): { readonly cluster: FakeCluster; readonly client: FakeClient } {
  const cluster = new FakeCluster();
  cluster.createTopic('t', 2);
  for (const partition of [0, 1]) {
    for (let i = 0; i < 10; i++) {
      const value = `${String(partition)}:${String(i)}`;
      cluster.log('t', partition).write([{ key: null, value, timestamp: T + i }]);
    }
  }
  return { cluster, client: new FakeClient(cluster) };
}

type Options = Omit<TopicReaderOptions<string, string>, 'topic' | 'key' | 'value'>;

function read(client: FakeClient, options: Options): ReturnType<typeof readTopic<string, string>> {
  const text = serdes.string();
  return readTopic(client, { topic: 't', key: text, value: text, ...options });
}

async function offsets(client: FakeClient, options: Options): Promise<number[]> {
  const found: number[] = [];
  for await (const records of read(client, { partitions: [0], ...options })) {
    found.push(...records.map(({ offset }) => Number(offset.toString())));
  }
  return found;
}

function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, i) => start + i);
}

describe('readTopic', () => {
  it('reads from where it is told to where it is told', async () => {
    const { client, cluster } = numbers();
    cluster.log('t', 0).deleteUpTo(2n);
    const cases: readonly (readonly [Options, readonly number[]])[] = [
      [{}, range(2, 10)],
      [{ from: { tail: 3n } }, range(7, 10)],
      [{ from: { tail: 300n } }, range(2, 10)],
      [{ from: { offset: 5n } }, range(5, 10)],
      [{ from: { offset: 0n } }, range(2, 10)],
      [{ from: { offset: 50n } }, []],
      [{ from: { timestampMs: T + 6 } }, range(6, 10)],
      [{ from: { timestampMs: T + 60 } }, []],
      [{ from: 'end' }, []],
      [{ to: { offset: 4n } }, range(2, 4)],
      [{ to: { offset: 400n } }, range(2, 10)],
      [{ to: { timestampMs: T + 5 } }, range(2, 5)],
      [{ to: { timestampMs: T + 50 } }, range(2, 10)],
      [{ from: { offset: 3n }, to: { offset: 3n } }, []],
    ];
    for (const [options, expected] of cases) {
      expect(await offsets(client, options), Object.keys(options).join()).toEqual(expected);
    }
  });

  it('reads all partitions, and what comes while it goes on, until it is told to end', async () => {
    const { client, cluster } = numbers();
    const controller = new AbortController();
    const seen: string[] = [];
    const options: Options = { to: 'never', from: { tail: 1n }, signal: controller.signal };
    for await (const records of read(client, options)) {
      for (const { value } of records) seen.push(value ?? '');
      if (seen.length === 2) {
        cluster.log('t', 1).write([{ key: null, value: 'later', timestamp: T }]);
        cluster.changed('t', 1);
      }
      // While it waits for more.
      if (seen.length === 3)
        setTimeout(() => {
          controller.abort();
        }, 10);
    }
    expect(seen.sort()).toEqual(['0:9', '1:9', 'later']);
  });

  it('ends with an error when what is there does not come', async () => {
    const { client, cluster } = numbers();
    // The leader says so, and then does not hand it over.
    cluster.log('t', 0).lastStableOffset = 20n;
    await expect(offsets(client, { stallTimeoutMs: 50 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('Nothing more of topic t has arrived') as string,
    });
  });
});
