import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { InvariantError, ProductionError } from '../errors.ts';
import type { RecordSerde } from '../serdes/serde.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClient } from '../testing-support/fake-client.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { TaskRecordCollector } from './record-collector.ts';
import type { StreamPartitioner, TopicSender } from '../operators/record-collector.ts';

const text = serdes.string();

async function setUp(partitionCount: number, answer: 'fail' | 'continue' = 'fail') {
  const cluster = new FakeCluster();
  cluster.createTopic('out', partitionCount);
  const producer = new FakeClient(cluster).producer({
    lingerMs: 0,
    batchBytes: 1_000_000,
    bufferBytes: 1_000_000,
    requestTimeoutMs: 1_000,
    deliveryTimeoutMs: 1_000,
    compression: 'none',
    onDrained: () => undefined,
  });
  const failures: ProductionError[] = [];
  const dropped: string[] = [];
  const collector = new TaskRecordCollector({
    producer,
    random: () => 0,
    onFailure: (_node, _record, error) => {
      failures.push(error);
      if (answer === 'fail') throw error;
    },
    onDropped: (_node, topic) => dropped.push(topic),
    now: () => 77,
  });
  const sender = collector.topic('out');
  await collector.prepare();
  const read = async (): Promise<(string | undefined)[][]> => {
    await producer.flush();
    return Array.from({ length: partitionCount }, (_, partition) =>
      cluster
        .log('out', partition)
        .records()
        .map(({ value }) => value?.toString()),
    );
  };
  return { collector, sender, read, failures, dropped };
}

function send(
  to: TopicSender,
  key: string | null,
  value: string | null,
  partitioner: StreamPartitioner<string, string> | null = null,
): void {
  void to.send(key, text, value, text, 1, null, partitioner);
}

describe('TaskRecordCollector', () => {
  it("partitions as Java's default partitioner does: murmur2 of the key", async () => {
    const { sender, read } = await setUp(10);
    // From Kafka's Utils.murmur2 and toPositive: 21 → -973932308, foobar → -790332482.
    send(sender, '21', 'a');
    send(sender, 'foobar', 'b');
    const expected = (hash: number): number => (hash & 0x7fffffff) % 10;
    const partitions = await read();
    expect(partitions[expected(-973_932_308)]).toContain('a');
    expect(partitions[expected(-790_332_482)]).toContain('b');
  });

  it('hashes only the inner key where the serde has a suffix, as of a window', async () => {
    const windowed: RecordSerde<string> = {
      name: 'suffixed',
      unhashedSuffixBytes: 4,
      serialize: (value) => Buffer.from(value),
      deserialize: (bytes) => Buffer.from(bytes).toString(),
      write: (value, target, position) => position + target.write(value, position),
      read: (source, start, end) => source.toString('utf8', start, end),
    };
    const { sender, read } = await setUp(7);
    for (const suffix of ['0000', '0001', '9999']) {
      void sender.send(`foobar${suffix}`, windowed, suffix, text, 1, null, null);
    }
    send(sender, 'foobar', 'plain');
    expect((await read()).filter((values) => values.length > 0)).toEqual([
      ['0000', '0001', '9999', 'plain'],
    ]);
  });

  it('keeps records without a key together for a while, then goes on to the next partition', async () => {
    const { sender, read } = await setUp(3);
    for (let i = 0; i < 1_024; i++) send(sender, null, 'v');
    expect((await read()).map((values) => values.length)).toEqual([512, 512, 0]);
  });

  it('takes an empty key for a key', async () => {
    const { sender, read } = await setUp(5);
    send(sender, '', 'a');
    send(sender, '', 'b');
    expect((await read()).filter((values) => values.length > 0)).toEqual([['a', 'b']]);
  });

  it("keeps a partitioner's word: one, several, none, or no word at all", async () => {
    const { sender, read, dropped } = await setUp(4);
    send(sender, 'k', 'one', () => 3);
    send(sender, 'k', 'several', () => [0, 2]);
    send(sender, 'k', 'none', () => []);
    send(sender, 'foobar', 'default', () => undefined);
    send(sender, 'foobar', 'default too');
    const partitions = await read();
    expect(partitions[3]).toContain('one');
    expect(partitions[0]).toContain('several');
    expect(partitions[2]).toContain('several');
    expect(partitions.flat()).not.toContain('none');
    expect(dropped).toEqual(['out']);
    const home = partitions.find((values) => values.includes('default'));
    expect(home).toContain('default too');
  });

  it('waits for a partitioner that promises its word', async () => {
    const { sender, read } = await setUp(3);
    const words = [2, [0, 1], [], undefined];
    const partitioner: StreamPartitioner<string, string> = (_topic, _key, value) =>
      Promise.resolve(words[Number(value)]);
    for (const value of ['0', '1', '2', '3']) {
      const sent = sender.send('k', text, value, text, 1, null, partitioner);
      expect(sent).toBeInstanceOf(Promise);
      // Another key in between must not get into this record.
      void sender.send('other', text, `n${value}`, text, 1, null, () => 0);
      await sent;
    }
    const [first, second, third] = await read();
    expect(first?.filter((value) => value?.startsWith('n') !== true)).toContain('1');
    expect([second?.includes('1'), third?.[0]]).toEqual([true, '0']);
    const failing = sender.send('k', text, 'v', text, 1, null, () =>
      Promise.reject(new Error('no word')),
    );
    await expect(failing).rejects.toThrow('no word');
  });

  it('tells a partitioner everything that it may ask for', async () => {
    const { sender } = await setUp(2);
    const headers = new RecordHeaders().add('h', 'x');
    const seen: unknown[] = [];
    void sender.send('k', text, 'v', text, 1, headers, (...args) => {
      seen.push(...args);
      return 0;
    });
    expect(seen).toEqual(['out', 'k', 'v', headers, 2]);
  });

  it('reports what it could not serialize or place, with the topic', async () => {
    const broken: RecordSerde<string> = {
      ...text,
      name: 'broken',
      serialize: text.serialize.bind(text),
      deserialize: text.deserialize.bind(text),
      read: text.read.bind(text),
      write: () => {
        throw new Error('no such schema');
      },
    };
    const { sender, failures } = await setUp(2);
    expect(() => {
      void sender.send('k', broken, 'v', text, 1, null, null);
    }).toThrow(ProductionError);
    expect(() => {
      void sender.send('k', text, 'v', broken, 1, null, null);
    }).toThrow(/topic out.*no such schema/);
    expect(() => {
      send(sender, 'k', 'v', () => 2);
    }).toThrow(/partition 2.*has 2/);
    // A partitioner is no serde: its error is that of the node before.
    expect(failures.map(({ stage }) => stage)).toEqual(['key', 'value']);
  });

  it('goes on where the handler says so, and keeps the records around it whole', async () => {
    const picky: RecordSerde<string> = {
      ...text,
      name: 'picky',
      serialize: text.serialize.bind(text),
      deserialize: text.deserialize.bind(text),
      read: text.read.bind(text),
      write: (value, target, position) => {
        if (value === 'bad') {
          target.write('garbage', position);
          throw new Error('bad');
        }
        return text.write(value, target, position);
      },
    };
    const { sender, read, failures } = await setUp(1, 'continue');
    for (const value of ['a', 'bad', 'b', 'bad', 'c']) {
      void sender.send('k', text, value, picky, 1, null, null);
    }
    expect(await read()).toEqual([['a', 'b', 'c']]);
    expect(failures).toHaveLength(2);
  });

  it('grows for long keys', async () => {
    const { sender, read } = await setUp(1);
    send(sender, 'k'.repeat(100_000), 'v');
    expect(await read()).toEqual([['v']]);
  });

  it('refuses a topic that was opened after the start', async () => {
    const { collector } = await setUp(1);
    expect(() => {
      send(collector.topic('other'), 'k', 'v');
    }).toThrow(InvariantError);
  });
});
