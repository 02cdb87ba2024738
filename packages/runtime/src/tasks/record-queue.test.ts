import { BatchBuilder } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { SharedMemory } from '../client/response-memory.ts';
import { InvariantError } from '../errors.ts';
import { ProcessorNode } from '../operators/processor-node.ts';
import { serdes } from '../public-dsl.ts';
import { toRecordSerde } from '../serdes/custom-serde.ts';
import type { Serde } from '../serdes/serde.ts';
import { Windowed } from '../serdes/windowed-key.ts';
import type { SourceNode } from '../topology/built-topology.ts';
import { RecordQueue } from './record-queue.ts';
import { StreamTime } from './stream-time.ts';

/** Keeps what it is given, as a user's function may. */
class Keeper extends ProcessorNode {
  readonly kept: [key: unknown, value: unknown][] = [];

  override process(key: unknown, value: unknown): undefined {
    this.kept.push([key, value]);
  }
}

function queueOf<K, V>(key: Serde<K>, value: Serde<V>) {
  const node = new Keeper('keeper');
  const source = {
    name: 'source',
    keySerde: toRecordSerde(key, 't'),
    valueSerde: toRecordSerde(value, 't'),
    timestampExtractor: null,
    entry: node.entry,
    process: (k: unknown, v: unknown) => node.process(k, v),
  } as unknown as SourceNode;
  const queue = new RecordQueue({
    topic: 't',
    partition: 0,
    source,
    position: 0n,
    partitionTime: -1,
    streamTime: new StreamTime(),
    failures: {
      undecodable(error) {
        throw error;
      },
      invalidTimestamp() {
        throw new InvariantError('no record is without a time');
      },
    },
    now: () => 0,
  });
  let released = 0;
  const push = (base: bigint, keys: readonly K[], values: readonly V[]): void => {
    const builder = new BatchBuilder({ codec: 'none', maxBytes: 10_000 });
    for (const [i, one] of keys.entries()) {
      const valueBytes = value.serialize(values[i] as V, 't', null);
      builder.appendBytes(1, key.serialize(one, 't', null), valueBytes, null);
    }
    const records = Buffer.from(builder.build({ baseOffset: base }));
    const memory = new SharedMemory(records.buffer, () => {
      released++;
      records.fill(0xa5); // The next response lies there.
    });
    queue.push(
      {
        topic: 't',
        partition: 0,
        records,
        abortedTransactions: [],
        highWatermark: 100n,
        lastStableOffset: 100n,
        logStartOffset: 0n,
        nextOffset: base + BigInt(keys.length),
        memory: memory.hold(),
        error: null,
      },
      100n,
    );
  };
  return { queue, node, push, releasedCount: () => released };
}

describe("RecordQueue and a response's memory", () => {
  const uuid = '123e4567-e89b-12d3-a456-426614174000';
  const cases: [string, Serde<never>, unknown][] = [
    ['string', serdes.string() as Serde<never>, 'a text that is longer than a few bytes: é 水'],
    ['long', serdes.long() as Serde<never>, 2 ** 40],
    ['json', serdes.json<object>() as Serde<never>, { a: ['b', 1], text: 'c'.repeat(50) }],
    ['bytes', serdes.bytes() as Serde<never>, Buffer.from('some bytes')],
    ['uuid', serdes.uuid() as Serde<never>, uuid],
    ['list', serdes.list(serdes.bytes()) as Serde<never>, [Buffer.from('x'), Buffer.from('yz')]],
    [
      'windowed',
      serdes.timeWindowed(serdes.bytes(), 10) as Serde<never>,
      new Windowed(Buffer.from('key'), 20, 30),
    ],
  ];

  it.each(cases)(
    'gives it back, and what was read as %s stays as it was',
    (_name, serde, value) => {
      const { queue, node, push, releasedCount } = queueOf(serde, serde);
      const values = [value, value, value] as never[];
      push(0n, values, values);
      for (let i = 0; i < 3; i++) {
        expect(releasedCount()).toBe(0);
        void queue.processHead();
        queue.advance();
      }
      expect(releasedCount()).toBe(1);
      expect(node.kept).toEqual(values.map(() => [value, value]));
      expect(queue.committableOffset).toBe(3n);
      push(3n, values, values);
      expect(queue.committableOffset).toBe(3n);
      expect(releasedCount()).toBe(1);
    },
  );

  it("leaves it to the garbage collector when a user's serde may hand out views of it", () => {
    const views = serdes.custom<Uint8Array>({
      name: 'views',
      serialize: (value) => value,
      deserialize: (bytes) => bytes,
    });
    const { queue, node, push, releasedCount } = queueOf(serdes.string(), views);
    push(0n, ['k'], [Buffer.from('seen')]);
    void queue.processHead();
    queue.advance();
    expect(releasedCount()).toBe(0);
    expect(Buffer.from(node.kept[0]?.[1] as Uint8Array).toString()).toBe('seen');
  });

  it('does not give it back while a record is in hand, or when the position moves', () => {
    const { queue, push, releasedCount } = queueOf(serdes.string(), serdes.string());
    push(0n, ['k'], ['v']);
    void queue.processHead();
    expect(queue.headBytes().value?.toString()).toBe('v');
    queue.seek(10n);
    expect(releasedCount()).toBe(0);
    expect(queue.headBytes().value?.toString()).toBe('v');
  });

  it('keeps what it has when the position is reset to a later one, and drops it for an earlier one', () => {
    const { queue, node, push } = queueOf(serdes.string(), serdes.string());
    push(5n, ['a', 'b'], ['1', '2']);
    queue.reset(20n);
    expect(queue.fetchedLag).toBeNull();
    push(20n, ['c'], ['3']);
    while (queue.hasHead) {
      void queue.processHead();
      queue.advance();
    }
    expect(node.kept).toEqual([
      ['a', '1'],
      ['b', '2'],
      ['c', '3'],
    ]);
    expect(queue.committableOffset).toBe(21n);

    queue.reset(40n);
    expect(queue.committableOffset).toBe(40n);
    push(40n, ['d'], ['4']);
    queue.reset(0n);
    expect([queue.hasHead, queue.bufferedBytes, queue.committableOffset]).toEqual([false, 0, 0n]);
  });
});
