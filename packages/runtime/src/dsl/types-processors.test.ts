/* eslint-disable @typescript-eslint/no-unsafe-class-instance-assignment -- wrong uses have wrong types */
import { describe, expectTypeOf, it } from 'vitest';
import type {
  FixedKeyProcessor,
  FixedKeyProcessorContext,
  Processor,
  ProcessorContext,
} from '../operators/processor-api.ts';
import { StreamRecord, type FixedKeyRecord } from '../operators/stream-record.ts';
import { serdes } from '../serdes/serdes.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import type { KStream } from './streams.ts';
import { stores } from '../state/stores.ts';
import { StreamsBuilder } from './streams-builder.ts';

const text = serdes.string();
const builder = new StreamsBuilder();
const words = builder.stream('words', { key: text, value: text });
const totals = stores.keyValue({ name: 'totals', key: text, value: serdes.long() });

class Lengths implements Processor<string, string, number, string> {
  #context: ProcessorContext<number, string> | null = null;

  init(context: ProcessorContext<number, string>): void {
    this.#context = context;
    expectTypeOf(context.getStateStore(totals)).toEqualTypeOf<KeyValueStore<string, number>>();
  }

  process(record: StreamRecord<string, string>): void {
    void this.#context?.forward(record.withKey(record.value.length));
  }
}

class Upper implements FixedKeyProcessor<string, string, number> {
  #context: FixedKeyProcessorContext<string, number> | null = null;

  init(context: FixedKeyProcessorContext<string, number>): void {
    this.#context = context;
  }

  async process(record: FixedKeyRecord<string, string>): Promise<void> {
    await this.#context?.forward(record.withValue(record.value.length));
  }
}

describe('types of processors', () => {
  it('are those of what they forward', () => {
    expectTypeOf(words.process(() => new Lengths(), { stores: [totals] })).toEqualTypeOf<
      KStream<number, string>
    >();
    expectTypeOf(words.processValues(() => new Upper())).toEqualTypeOf<KStream<string, number>>();
    const supplied = words.process({ get: () => new Lengths(), stores: () => [totals] });
    expectTypeOf(supplied).toEqualTypeOf<KStream<number, string>>();
    const sink = words.process(() => ({
      process(record) {
        expectTypeOf(record).toEqualTypeOf<StreamRecord<string, string>>();
      },
    }));
    expectTypeOf(sink).toEqualTypeOf<KStream<string, string>>();
    expectTypeOf(new StreamRecord('k', 1, 0).withValue('v').withTimestamp(1)).toEqualTypeOf<
      StreamRecord<string, string>
    >();
  });

  it('are those of a global store', () => {
    const global = stores.keyValue({ name: 'global', key: text, value: serdes.long() });
    const returned = builder.addGlobalStore(
      global,
      'rates',
      { key: text, value: serdes.long() },
      () => ({
        process(record) {
          expectTypeOf(record).toEqualTypeOf<StreamRecord<string, number>>();
        },
      }),
    );
    expectTypeOf(returned).toEqualTypeOf<StreamsBuilder>();
  });

  it('refuse what does not fit', () => {
    const numbers = builder.stream('numbers', { key: text, value: serdes.long() });
    const wrong = (context: FixedKeyProcessorContext<string, number>): void => {
      // @ts-expect-error -- it processes texts
      numbers.process(() => new Lengths());
      // @ts-expect-error -- it processes texts
      numbers.processValues(() => new Upper());
      // @ts-expect-error -- it forwards numbers as keys
      words.process(() => new Lengths(), { key: text });
      // @ts-expect-error -- a key stays
      void context.forward(new StreamRecord('other', 1, 0));
      // @ts-expect-error -- one that may change keys
      words.processValues(() => new Lengths());
    };
    expectTypeOf(wrong).toBeFunction();
  });
});
