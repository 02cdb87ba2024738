import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { ProductionError } from '../errors.ts';
import { stringSerde } from '../serdes/string.ts';
import { DynamicSinkOperator } from './dynamic-sink.ts';
import { TaskDouble } from './testing-support/task-double.ts';
import type { RecordContext, TopicNameExtractor } from './topic-name-extractor.ts';

function sink(extractor: TopicNameExtractor<unknown, unknown>) {
  const task = new TaskDouble();
  const node = new DynamicSinkOperator('sink', extractor, stringSerde, stringSerde, null);
  node.init(task.context);
  return { task, node };
}

describe('a sink that chooses topics', () => {
  it('sends each record to its topic, as it is', () => {
    const { task, node } = sink((key) => `t-${String(key)}`);
    for (const key of ['a', 'b', 'a']) {
      expect(node.process(key, 'v', null, 7, null)).toBeUndefined();
    }
    void node.process('c', null, null, 8, null);
    expect(task.takeSent()).toEqual(['t-a 61=76@7', 't-b 62=76@7', 't-a 61=76@7', 't-c 63=null@8']);
  });

  it('tells the function of the record', () => {
    const seen: unknown[] = [];
    const { node } = sink((_key, _value, record: RecordContext) => {
      const { topic, partition, offset, timestamp, headers } = record;
      seen.push([topic, partition, offset, timestamp, headers?.size]);
      return 'out';
    });
    void node.process('k', 'v', null, 7, new RecordHeaders().add('h', 'x'));
    expect(seen).toEqual([['in', 0, 0n, 7, 1]]);
  });

  it('lets the first record for a topic wait for the partition count, and no other', async () => {
    const { task, node } = sink((key) => String(key));
    let learn: () => void = () => undefined;
    const known = new Set<string>();
    task.prepareTopic = (topic) => {
      if (known.has(topic)) return undefined;
      return new Promise((resolve) => {
        learn = () => {
          known.add(topic);
          resolve();
        };
      });
    };
    const first = node.process('a', '1', null, 1, null);
    expect(first).toBeInstanceOf(Promise);
    expect(task.takeSent()).toEqual([]);
    learn();
    await first;
    expect(node.process('a', '2', null, 2, null)).toBeUndefined();
    expect(task.takeSent()).toEqual(['a 61=31@1', 'a 61=32@2']);
  });

  it('names a topic that does not exist, and tries it again with the next record', async () => {
    const { task, node } = sink(() => 'nope');
    let tries = 0;
    task.prepareTopic = () => {
      tries++;
      return tries === 1 ? Promise.reject(new Error('Topic nope was not found')) : undefined;
    };
    const failed = expect(node.process('a', '1', null, 1, null)).rejects;
    await failed.toThrow(ProductionError);
    await failed.toThrow(/sink sink chose the topic nope.*was not found.*create it/su);
    void node.process('a', '2', null, 2, null);
    expect(task.takeSent()).toEqual(['nope 61=32@2']);
  });

  it.each<unknown>([null, undefined, '', 3])('refuses %s as a topic', (topic) => {
    const { node } = sink(() => topic as string);
    expect(() => node.process('a', '1', null, 1, null)).toThrow(/must return the name of a topic/u);
  });

  it('waits for a name that is promised', async () => {
    const { task, node } = sink(async (key) => Promise.resolve(`t-${String(key)}`));
    await node.process('a', '1', null, 1, null);
    expect(task.takeSent()).toEqual(['t-a 61=31@1']);
  });
});
