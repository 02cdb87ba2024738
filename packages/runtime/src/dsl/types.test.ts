import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { serdes } from '../serdes/serdes.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
import type { KGroupedStream, KStream, KTable } from './streams.ts';
import { StreamsBuilder } from './streams-builder.ts';
import { timeWindows } from './time-windows.ts';

interface Flight {
  readonly origin: string;
  readonly delay: number;
}

interface Landed {
  readonly kind: 'landed';
  readonly delay: number;
}

interface Cancelled {
  readonly kind: 'cancelled';
  readonly reason: string;
}

const builder = new StreamsBuilder();
const text = serdes.string();
const flights = builder.stream('flights', { key: text, value: serdes.json<Flight>() });
const events = builder.stream('events', {
  key: text,
  value: serdes.json<Landed | Cancelled | null>(),
});

describe('types of streams', () => {
  it('begin at the serdes of the source', () => {
    expectTypeOf(flights).toEqualTypeOf<KStream<string, Flight>>();
    const schema = z.object({ id: z.int(), at: z.coerce.date() });
    const checked = builder.stream('checked', { key: serdes.bigint(), value: serdes.json(schema) });
    expectTypeOf(checked).toEqualTypeOf<KStream<bigint, { id: number; at: Date }>>();
    const several = builder.stream(['a', 'b'], { key: serdes.uuid(), value: serdes.list(text) });
    expectTypeOf(several).toEqualTypeOf<KStream<string, string[]>>();
    const matching = builder.stream(/^log-/, { value: serdes.bytes() });
    expectTypeOf(matching).toEqualTypeOf<KStream<unknown, Uint8Array>>();
    expectTypeOf(builder.stream('unknown')).toEqualTypeOf<KStream<unknown, unknown>>();
    // With default serdes the caller says what they are.
    expectTypeOf(builder.stream<string, Flight>('f')).toEqualTypeOf<KStream<string, Flight>>();
    const windows = builder.stream('windows', {
      key: serdes.timeWindowed(text, 10),
      value: serdes.list(serdes.long(), { nulls: true }),
    });
    expectTypeOf(windows).toEqualTypeOf<KStream<Windowed<string>, (number | null)[]>>();
    const sessions = builder.stream('sessions', { key: serdes.sessionWindowed(serdes.integer()) });
    expectTypeOf(sessions).toEqualTypeOf<KStream<Windowed<number>, unknown>>();
    const custom = builder.stream('custom', {
      value: serdes.custom({
        serialize: (value: Date) => Buffer.from(value.toISOString()),
        deserialize: (bytes) => new Date(Buffer.from(bytes).toString()),
      }),
    });
    expectTypeOf(custom).toEqualTypeOf<KStream<unknown, Date>>();
  });

  it('pass through what keeps records as they are', () => {
    expectTypeOf(flights.filter((key, flight) => flight.delay > 0 && key !== '')).toEqualTypeOf<
      KStream<string, Flight>
    >();
    expectTypeOf(flights.filterNot(async (_key, { delay }) => delay > 0)).toEqualTypeOf<
      KStream<string, Flight>
    >();
    const seen = flights.peek((key, flight) => {
      expectTypeOf(key).toEqualTypeOf<string>();
      expectTypeOf(flight).toEqualTypeOf<Flight>();
    });
    expectTypeOf(seen).toEqualTypeOf<KStream<string, Flight>>();
    flights.foreach(() => undefined);
    expectTypeOf(flights.merge(seen)).toEqualTypeOf<KStream<string, Flight>>();
    expectTypeOf(flights.repartition({ partitions: 3 })).toEqualTypeOf<KStream<string, Flight>>();
    flights.to('out');
    flights.to((key, flight, { topic }) => `${key}-${flight.origin}-${topic ?? ''}`);
    flights.to('out', { partitioner: (_topic, _key, value) => value?.delay });
  });

  it('narrow by type guards', () => {
    const real = events.filter((_key, event) => event !== null);
    expectTypeOf(real).toEqualTypeOf<KStream<string, Landed | Cancelled>>();
    const landed = real.filter((_key, event) => event.kind === 'landed');
    expectTypeOf(landed).toEqualTypeOf<KStream<string, Landed>>();
    const isLanded = (_key: string, event: Landed | Cancelled): event is Landed =>
      event.kind === 'landed';
    expectTypeOf(real.filterNot(isLanded)).toEqualTypeOf<KStream<string, Cancelled>>();
    const keyed = builder
      .stream('k', { key: serdes.json<string | null>(), value: text })
      .filter((key) => key !== null);
    expectTypeOf(keyed).toEqualTypeOf<KStream<string, string>>();
    const branches = real
      .split({ name: 'by-' })
      .branch((_key, event) => event.kind === 'landed', { name: 'landed' })
      .branch((_key, event) => event.kind === 'cancelled', {
        name: 'reasons',
        use: (branch) => branch.mapValues(({ reason }) => reason),
      })
      .branch(() => true, { name: 'written', use: (branch) => branch.to('out') })
      .defaultBranch();
    expectTypeOf(branches['by-landed']).toEqualTypeOf<KStream<string, Landed>>();
    expectTypeOf(branches['by-reasons']).toEqualTypeOf<KStream<string, string>>();
    expectTypeOf(branches['by-0']).toEqualTypeOf<KStream<string, Landed | Cancelled>>();
    expectTypeOf(branches).not.toHaveProperty('by-written');
  });

  it('are those of what functions return', () => {
    expectTypeOf(flights.map((_key, flight) => [flight.delay, flight.origin])).toEqualTypeOf<
      KStream<number, string>
    >();
    expectTypeOf(flights.mapValues((flight, key) => ({ key, ...flight }))).toExtend<
      KStream<string, { key: string; origin: string; delay: number }>
    >();
    expectTypeOf(flights.flatMapValues(({ origin }) => origin.split(''))).toEqualTypeOf<
      KStream<string, string>
    >();
    expectTypeOf(
      flights.flatMap((key, { delay }) => (delay > 0 ? [[delay, key] as const] : [])),
    ).toEqualTypeOf<KStream<number, string>>();
    expectTypeOf(flights.selectKey((_key, { delay }) => delay)).toEqualTypeOf<
      KStream<number, Flight>
    >();
    const deleting = flights.mapValues(({ delay }) => (delay > 0 ? delay : null));
    expectTypeOf(deleting).toEqualTypeOf<KStream<string, number | null>>();
    deleting.to('out', { value: serdes.long() });
  });

  it('are what JSON is written for, unless its serde names another', () => {
    const delays = flights.mapValues(({ delay }) => ({ delay }), { value: serdes.json() });
    expectTypeOf(delays).toEqualTypeOf<KStream<string, { delay: number }>>();
    const both = flights.map((key, { delay }) => [{ key }, delay], {
      key: serdes.json(),
      value: serdes.json(),
    });
    expectTypeOf(both).toEqualTypeOf<KStream<{ key: string }, number>>();
    // A wider serde makes a wider stream.
    const kinds = events
      .filter((_key, event) => event !== null)
      .selectKey((_key, { kind }) => kind, { key: text });
    expectTypeOf(kinds).toEqualTypeOf<KStream<string, Landed | Cancelled>>();
    delays.to('out', { value: serdes.json() });
    // A source has no other word for it.
    expectTypeOf(builder.stream('json', { value: serdes.json() })).toEqualTypeOf<
      KStream<unknown, never>
    >();
  });

  it('see through promises', () => {
    const later = flights.mapValues((flight) => Promise.resolve(flight.delay));
    expectTypeOf(later).toEqualTypeOf<KStream<string, number>>();
    const keyed = flights.selectKey(async (key, flight) => Promise.resolve(key + flight.origin));
    expectTypeOf(keyed).toEqualTypeOf<KStream<string, Flight>>();
    const sometimes = flights.mapValues(({ delay }) =>
      delay > 0 ? Promise.resolve('late') : 'in time',
    );
    expectTypeOf(sometimes).toEqualTypeOf<KStream<string, string>>();
    const flat = flights.flatMapValues(async ({ origin }) => Promise.resolve([origin]));
    expectTypeOf(flat).toEqualTypeOf<KStream<string, string>>();
  });

  it('refuse what does not fit', () => {
    const wrong = (): void => {
      // @ts-expect-error -- there is no such field
      flights.filter((_key, flight) => flight.arrival > 1);
      // @ts-expect-error -- a predicate says yes or no
      flights.filter((_key, flight) => flight.origin);
      // @ts-expect-error -- a number serde for texts
      flights.mapValues((flight) => flight.origin, { value: serdes.long() });
      // @ts-expect-error -- a text serde for the new number keys
      flights.selectKey((_key, flight) => flight.delay, { key: text });
      // @ts-expect-error -- map returns a key and a value
      flights.map((_key, flight) => flight);
      // @ts-expect-error -- flatMap returns several
      flights.flatMapValues((flight) => flight);
      // @ts-expect-error -- the sink's value serde is of another type
      flights.to('out', { value: text });
      // @ts-expect-error -- the sink's key serde is of another type
      flights.to('out', { key: serdes.long() });
      // @ts-expect-error -- a topic has a name
      flights.to((_key, flight) => flight.delay);
      // @ts-expect-error -- values of another type
      flights.merge(flights.mapValues(() => 'x'));
      // @ts-expect-error -- it is null, too
      events.mapValues((event) => event.kind);
      // @ts-expect-error -- repartitioned with the wrong serde
      flights.repartition({ value: text });
      // @ts-expect-error -- there is no such branch
      expectTypeOf(flights.split({ name: 'a-' }).noDefaultBranch()['a-1']).toBeUnknown();
      // @ts-expect-error -- no such option
      flights.peek(() => undefined, { named: 'x' });
    };
    expectTypeOf(wrong).toBeFunction();
  });
});

describe('types of grouped streams', () => {
  const byOrigin = flights.groupBy((_key, { origin }) => origin, { key: text });

  it('are those of key and value', () => {
    expectTypeOf(flights.groupByKey()).toEqualTypeOf<KGroupedStream<string, Flight>>();
    expectTypeOf(flights.groupBy((_key, { delay }) => delay)).toEqualTypeOf<
      KGroupedStream<number, Flight>
    >();
    expectTypeOf(byOrigin.count()).toEqualTypeOf<KTable<string, number>>();
    expectTypeOf(byOrigin.reduce((a, b) => (a.delay > b.delay ? a : b))).toEqualTypeOf<
      KTable<string, Flight>
    >();
  });

  it('take the aggregate from the initializer, or from the serde', () => {
    const sum = byOrigin.aggregate(
      () => 0,
      (_key, { delay }, total) => total + delay,
      { value: serdes.long() },
    );
    expectTypeOf(sum).toEqualTypeOf<KTable<string, number>>();
    const list = byOrigin.aggregate(
      () => [],
      (_key, { delay }, all) => [...all, delay],
      { value: serdes.list(serdes.integer()) },
    );
    expectTypeOf(list).toEqualTypeOf<KTable<string, number[]>>();
    const deleting = byOrigin.aggregate(
      () => ({ count: 0 }),
      (key, _flight, { count }) => (key === '' ? null : { count: count + 1 }),
      { value: serdes.json() },
    );
    expectTypeOf(deleting).toEqualTypeOf<KTable<string, { count: number }>>();
    const later = byOrigin.aggregate(
      async () => 0,
      async (_key, { delay }, total) => total + delay,
    );
    expectTypeOf(later).toEqualTypeOf<KTable<string, number>>();
  });

  it('make windowed keys of windows', () => {
    const windowed = byOrigin.windowedBy(timeWindows({ size: '1d', advance: '1h', grace: '1h' }));
    const counts = windowed.count({ store: 'counts', retention: '3d' });
    expectTypeOf(counts).toEqualTypeOf<KTable<Windowed<string>, number>>();
    expectTypeOf(windowed.reduce((a) => a)).toEqualTypeOf<KTable<Windowed<string>, Flight>>();
    const stats = windowed.aggregate(
      () => ({ count: 0 }),
      (_key, _flight, { count }) => ({ count: count + 1 }),
      { value: serdes.json() },
    );
    expectTypeOf(stats).toEqualTypeOf<KTable<Windowed<string>, { count: number }>>();
    const starts = stats.toStream((window) => window.start);
    expectTypeOf(starts).toEqualTypeOf<KStream<number, { count: number }>>();
    stats
      .toStream()
      .to('stats', { key: serdes.timeWindowed(text, 86_400_000), value: serdes.json() });
  });

  it('refuse what does not fit', () => {
    const wrong = (): void => {
      // @ts-expect-error -- keys are numbers
      flights.groupBy((_key, { delay }) => delay, { key: text });
      // @ts-expect-error -- counts are numbers
      byOrigin.count({ value: text });
      // @ts-expect-error -- reduce keeps the type of the values
      byOrigin.reduce((total, { delay }) => total.delay + delay);
      byOrigin.aggregate(
        () => 0,
        (_key, { delay }, total) => total + delay,
        // @ts-expect-error -- the aggregate is a number, the serde writes texts
        { value: text },
      );
      // @ts-expect-error -- windows have a size
      timeWindows({ grace: '1h' });
      byOrigin
        .windowedBy(timeWindows({ size: '1d' }))
        .count()
        .toStream()
        // @ts-expect-error -- the keys are windowed
        .to('out', { key: text });
      // @ts-expect-error -- only window stores have a retention
      byOrigin.count({ retention: '1d' });
    };
    expectTypeOf(wrong).toBeFunction();
  });
});
