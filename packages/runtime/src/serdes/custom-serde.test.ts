import { RecordHeaders } from '@millrace/protocol';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { CustomSerde, forTopic, toRecordSerde } from './custom-serde.ts';
import type { Serde } from './serde.ts';
import { serdes } from './serdes.ts';
import { Windowed } from './windowed-key.ts';

const tenant = (headers: RecordHeaders | null): string =>
  headers?.last('tenant')?.value?.toString() ?? 'none';

/** Shows what it was told. */
const telling = serdes.custom<string>({
  name: 'telling',
  serialize: (value, topic, headers) => Buffer.from(`${topic}/${tenant(headers)}/${value}`),
  deserialize: (bytes, topic, headers) =>
    `${topic}/${tenant(headers)}/${Buffer.from(bytes).toString()}`,
});
const headers = new RecordHeaders().add('tenant', 'acme');

describe('a serde of two functions', () => {
  it('infers its type from them', () => {
    const dates = serdes.custom({
      serialize: (value: Date) => Buffer.from(value.toISOString()),
      deserialize: (bytes) => new Date(Buffer.from(bytes).toString()),
    });
    expectTypeOf(dates).toEqualTypeOf<Serde<Date>>();
    expect(dates.name).toBe('custom');
    const date = new Date(5);
    expect(dates.deserialize(dates.serialize(date, 't', null), 't', null)).toEqual(date);
  });

  it('is adapted, and told its topic', () => {
    const serde = toRecordSerde(telling, 't');
    const target = Buffer.alloc(20);
    expect(serde.write('ab', target, 1)).toBe(10);
    expect(target.toString('latin1', 1, 10)).toBe('t/none/ab');
    expect(serde.write('ab', target, 12)).toBe(-1);
    expect(serde.read(target, 8, 10)).toBe('t/none/ab');
  });

  it('is told the headers, and the topic of each that a source reads', () => {
    const serde = forTopic(toRecordSerde(telling, 'one'), 'two');
    expect(serde.read(Buffer.from('x'), 0, 1, headers)).toBe('two/acme/x');
    expect(serde.read(Buffer.from('x'), 0, 1, null)).toBe('two/none/x');
    expect(forTopic(serdes.string(), 'two')).toBe(serdes.string());
  });

  it('is asked once per record, and may add to its headers', () => {
    let calls = 0;
    const serde = new CustomSerde<string>(
      {
        name: 'typed',
        serialize(value, topic, told) {
          calls++;
          told?.add('type', topic);
          return Buffer.from(value);
        },
        deserialize: () => '',
      },
      'bound',
    );
    const own = new RecordHeaders();
    serde.prepare('abc', 'sent', own);
    expect(serde.write('abc', Buffer.alloc(2), 0)).toBe(-1);
    expect(serde.write('abc', Buffer.alloc(3), 0)).toBe(3);
    expect(calls).toBe(1);
    expect(own.last('type')?.value?.toString()).toBe('sent');
    serde.release();
    expect(serde.write('abcd', Buffer.alloc(4), 0)).toBe(4);
    expect(calls).toBe(2);
  });

  it('is left as it is when it has both forms', () => {
    expect(toRecordSerde(serdes.string(), 'topic')).toBe(serdes.string());
  });
});

describe('a serde made of it is told topic and headers, too', () => {
  const told = 't/acme/ab';
  it.each<[string, Serde<unknown>, unknown]>([
    ['list', serdes.list(telling), [told]],
    ['timeWindowed', serdes.timeWindowed(telling, 5), new Windowed(told, 10, 15)],
    ['sessionWindowed', serdes.sessionWindowed(telling), new Windowed(told, 10, 12)],
    ['list of lists', serdes.list(serdes.list(telling)), [[told]]],
  ])('%s', (_name, serde, expected) => {
    expect(serde.write).toBeUndefined();
    const plain = JSON.parse(JSON.stringify(expected).replaceAll(told, 'ab')) as unknown;
    const value =
      expected instanceof Windowed ? new Windowed('ab', expected.start, expected.end) : plain;
    const bytes = serde.serialize(value, 't', headers);
    expect(Buffer.from(bytes).includes(told)).toBe(true);
    const adapted = toRecordSerde<unknown>(serde, 't');
    const source = Buffer.from(bytes);
    const text = JSON.stringify(adapted.read(source, 0, source.length, headers));
    expect(text).toBe(JSON.stringify(expected).replaceAll(told, `t/acme/${told}`));
  });

  it('keeps what the record path asks of it', () => {
    expect(serdes.timeWindowed(telling, 5).unhashedSuffixBytes).toBe(8);
    expect(toRecordSerde(serdes.sessionWindowed(telling), 't').unhashedSuffixBytes).toBe(16);
  });
});
