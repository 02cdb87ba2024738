import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { TopologyError } from '../errors.ts';
import { MergeOperator } from '../operators/merge.ts';
import { serdes } from '../serdes/serdes.ts';
import { stores } from '../state/stores.ts';
import { bindTopology, Topology } from './topology.ts';

const text = { key: serdes.string(), value: serdes.string() };

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(TopologyError);
    return (error as Error).message;
  }
  throw new Error('nothing was thrown');
}

describe('what cannot work says which nodes, and what to do', () => {
  it.each<[string, readonly string[], (builder: StreamsBuilder) => unknown]>([
    [
      'repartition topics of a join with different counts',
      [
        'left-repartition (2, read by left-repartition-source)',
        'right-repartition (3, read by right-repartition-source)',
        '"partitions"',
      ],
      (builder) => {
        const left = builder.stream('a', text).repartition({ name: 'left', partitions: 2 });
        const right = builder.stream('b', text).repartition({ name: 'right', partitions: 3 });
        left.join(right.toTable({ store: 't' }), (l, r) => l + r).to('out', text);
      },
    ],
    [
      'a source topic that is none',
      ['The source KSTREAM-SOURCE-0000000000', '"in/put"', 'ASCII letters'],
      (builder) => builder.stream('in/put', text),
    ],
    [
      'an empty topic',
      ['The source KSTREAM-SOURCE-0000000000', '""'],
      (builder) => builder.stream('', text),
    ],
    [
      'a sink topic that is none',
      ['The sink results', '"no topic"'],
      (builder) => builder.stream('in', text).to('no topic', { ...text, name: 'results' }),
    ],
  ])('%s', (_name, parts, act) => {
    const builder = new StreamsBuilder();
    const message = messageOf(() => {
      act(builder);
      return builder.build();
    });
    for (const part of parts) expect(message).toContain(part);
  });

  it('internal topics whose names would be too long, all of them at once', () => {
    const builder = new StreamsBuilder();
    const store = 's'.repeat(220);
    builder
      .stream('in', text)
      .groupBy((_key, value) => value, text)
      .count({ store });
    const topology = builder.build();
    const applicationId = 'a'.repeat(30);
    const message = messageOf(() => bindTopology(topology, { applicationId }));
    expect(message).toContain(`${applicationId}-${store}-changelog`);
    expect(message).toContain(`${applicationId}-${store}-repartition`);
    expect(message).toContain('shorter name');
  });

  it('a store on disk whose name would be the name of another one, or of none', () => {
    const bind = (name: string, type: 'inMemory' | 'persistent'): unknown => {
      const builder = new StreamsBuilder();
      builder.addStateStore(stores.keyValue({ name, type, ...text, logging: false }));
      const process = (): undefined => undefined;
      builder.stream('in', text).process(() => ({ process }), { stores: [name] });
      return bindTopology(builder.build(), { applicationId: 'app', isOnDisk: true });
    };
    for (const name of ['a/1', '/offsets', '']) {
      expect(messageOf(() => bind(name, 'persistent'))).toContain(
        `The store "${name}" is kept on disk`,
      );
      expect(() => bind(name, 'inMemory')).not.toThrow();
    }
    for (const name of ['_offsets', '..', 'mit Ümlaut'])
      expect(() => bind(name, 'persistent')).not.toThrow();
  });

  it('a parent, a store or a processor that does not exist, by hand', () => {
    const topology = new Topology();
    topology.addSource('source', ['in'], text);
    const pass = (name: string): MergeOperator => new MergeOperator(name);
    expect(messageOf(() => topology.addProcessor('p', pass, 'nobody'))).toMatch(/p names nobody/);
    topology.addProcessor('p', pass, 'source');
    expect(messageOf(() => topology.connectProcessorAndStateStores('p', 'nope'))).toMatch(
      /The node p uses the store nope.*addStateStore\(\) first/,
    );
  });
});
