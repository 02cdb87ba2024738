/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-return -- wrong uses have wrong types */
import { describe, expectTypeOf, it } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
import { storeSuppliers } from '../state/store-suppliers.ts';
import type { GlobalKTable, KGroupedTable, KStream, KTable } from './streams.ts';
import { StreamsBuilder } from './streams-builder.ts';
import { untilTimeLimit, untilWindowCloses } from './suppressed.ts';
import { timeWindows } from './time-windows.ts';

interface Flight {
  readonly origin: string;
  readonly delay: number;
}

interface Airport {
  readonly city: string;
  readonly runways: number | null;
}

const text = serdes.string();
const builder = new StreamsBuilder();
const flights = builder.stream('flights', { key: text, value: serdes.json<Flight>() });
const airports = builder.table('airports', { key: text, value: serdes.json<Airport>() });
const names = builder.table('names', { key: text, value: text });
const byNumber = builder.table('by-number', { key: serdes.integer(), value: text });
const cities = builder.globalTable('cities', {
  key: serdes.integer(),
  value: serdes.json<Airport>(),
});

describe('types of tables', () => {
  it('begin at the serdes of their topics', () => {
    expectTypeOf(airports).toEqualTypeOf<KTable<string, Airport>>();
    expectTypeOf(cities).toEqualTypeOf<GlobalKTable<number, Airport>>();
    expectTypeOf(airports.queryableStoreName).toEqualTypeOf<string | null>();
    expectTypeOf(flights.toTable({ store: 'latest' })).toEqualTypeOf<KTable<string, Flight>>();
    expectTypeOf(airports.toStream()).toEqualTypeOf<KStream<string, Airport>>();
    expectTypeOf(airports.toStream({ name: 'changes' })).toEqualTypeOf<KStream<string, Airport>>();
    const renamed = airports.toStream((_key, { city }) => city.length, { key: serdes.integer() });
    expectTypeOf(renamed).toEqualTypeOf<KStream<number, Airport>>();
  });

  it('follow what functions make of the rows', () => {
    expectTypeOf(airports.filter((_key, { city }) => city !== '')).toEqualTypeOf<
      KTable<string, Airport>
    >();
    expectTypeOf(airports.filterNot(async (key) => key === '')).toEqualTypeOf<
      KTable<string, Airport>
    >();
    expectTypeOf(airports.mapValues(({ city }) => city)).toEqualTypeOf<KTable<string, string>>();
    // A value of null deletes the row: it is not part of the table's type.
    const runways = airports.mapValues(({ runways }) => runways, { value: serdes.integer() });
    expectTypeOf(runways).toEqualTypeOf<KTable<string, number>>();
    const later = airports.mapValues(async ({ city }) => Promise.resolve(city.length));
    expectTypeOf(later).toEqualTypeOf<KTable<string, number>>();
    const transformed = airports.transformValues(
      () => ({ transform: (airport, key) => (airport === null ? null : key.length) }),
      { value: serdes.integer() },
    );
    expectTypeOf(transformed).toEqualTypeOf<KTable<string, number>>();
  });

  it('narrow by type guards', () => {
    const either = builder.table('either', { key: text, value: serdes.json<Flight | Airport>() });
    const isFlight = (_key: string, value: Flight | Airport): value is Flight => 'origin' in value;
    expectTypeOf(either.filter(isFlight)).toEqualTypeOf<KTable<string, Flight>>();
    expectTypeOf(either.filterNot(isFlight)).toEqualTypeOf<KTable<string, Airport>>();
    const stored = either.filter(isFlight, { store: 'flights', value: serdes.json<Flight>() });
    expectTypeOf(stored).toEqualTypeOf<KTable<string, Flight>>();
  });

  it('are those of groups', () => {
    const grouped = airports.groupBy((key, { runways }) => [runways, key], {
      key: serdes.integer(),
      value: text,
    });
    expectTypeOf(grouped).toEqualTypeOf<KGroupedTable<number, string>>();
    expectTypeOf(grouped.count()).toEqualTypeOf<KTable<number, number>>();
    const joined = grouped.reduce(
      (all, one) => `${all},${one}`,
      (all, one) => (all === one ? null : all.replace(one, '')),
    );
    expectTypeOf(joined).toEqualTypeOf<KTable<number, string>>();
    const lengths = grouped.aggregate(
      () => 0,
      (_key, one, total) => total + one.length,
      (_key, one, total) => total - one.length,
      { value: serdes.long() },
    );
    expectTypeOf(lengths).toEqualTypeOf<KTable<number, number>>();
  });

  it('are those of stores', () => {
    builder.table('versioned', {
      key: text,
      value: text,
      supplier: storeSuppliers.versioned({ historyRetention: '1d' }),
    });
    flights.groupByKey().count({ supplier: storeSuppliers.lru({ maxEntries: 10 }) });
  });

  it('refuse what does not fit', () => {
    const wrong = (): void => {
      // @ts-expect-error -- there is no such field
      airports.filter((_key, airport) => airport.town === '');
      // @ts-expect-error -- the values are texts
      airports.mapValues(({ city }) => city, { value: serdes.long() });
      // @ts-expect-error -- a row's value may be null here
      airports.transformValues(() => ({ transform: ({ city }) => city }));
      // @ts-expect-error -- groupBy of a table names key and value
      airports.groupBy((_key, { city }) => city);
      // @ts-expect-error -- the groups' keys are texts
      airports.groupBy((key, { city }) => [city, key], { key: serdes.long() });
      // @ts-expect-error -- a table's reduce takes values out again, too
      names.groupBy((key, value) => [key, value]).reduce((a) => a, { store: 's' });
      // @ts-expect-error -- a table is no stream
      airports.to('out');
      // @ts-expect-error -- a table in memory of another serde
      flights.toTable({ value: text });
    };
    expectTypeOf(wrong).toBeFunction();
  });
});

describe('types of joins', () => {
  it('of a stream and a table: the row is there, or may be null', () => {
    const inner = flights.join(airports, (flight, airport, key) => {
      expectTypeOf(flight).toEqualTypeOf<Flight>();
      expectTypeOf(airport).toEqualTypeOf<Airport>();
      expectTypeOf(key).toEqualTypeOf<string>();
      return airport.city;
    });
    expectTypeOf(inner).toEqualTypeOf<KStream<string, string>>();
    const left = flights.leftJoin(airports, (_flight, airport) => airport);
    expectTypeOf(left).toEqualTypeOf<KStream<string, Airport | null>>();
    const history = builder.table('history', {
      key: text,
      value: text,
      versioned: { historyRetention: '1d' },
    });
    const graceful = flights.join(history, (flight, name) => ({ ...flight, name }), {
      grace: '5s',
      result: serdes.json(),
    });
    expectTypeOf(graceful).toExtend<KStream<string, Flight & { name: string }>>();
  });

  it('of a stream and a global table: by any key', () => {
    const inner = flights.join(
      cities,
      (_key, { delay }) => delay,
      (flight, city, key, mapped) => {
        expectTypeOf(flight).toEqualTypeOf<Flight>();
        expectTypeOf(city).toEqualTypeOf<Airport>();
        expectTypeOf(key).toEqualTypeOf<string>();
        expectTypeOf(mapped).toEqualTypeOf<number>();
        return city.city;
      },
      { result: text },
    );
    expectTypeOf(inner).toEqualTypeOf<KStream<string, string>>();
    const left = flights.leftJoin(
      cities,
      (_key, { delay }) => (delay < 0 ? null : delay),
      (_flight, city, _key, mapped) => [city?.city, mapped] as const,
    );
    expectTypeOf(left).toEqualTypeOf<
      KStream<string, readonly [string | undefined, number | null]>
    >();
  });

  it('of tables: either may be null where it may be missing', () => {
    const inner = airports.join(names, ({ city }, name) => `${city} ${name}`);
    expectTypeOf(inner).toEqualTypeOf<KTable<string, string>>();
    const left = airports.leftJoin(names, ({ runways }, name) => (name === null ? null : runways));
    expectTypeOf(left).toEqualTypeOf<KTable<string, number>>();
    const outer = airports.outerJoin(names, (airport, name) => ({ airport, name }), {
      value: serdes.json(),
    });
    expectTypeOf(outer).toEqualTypeOf<
      KTable<string, { airport: Airport | null; name: string | null }>
    >();
  });

  it('refuse what does not fit', () => {
    const wrong = (): void => {
      // @ts-expect-error -- the keys differ
      flights.join(byNumber, (flight) => flight);
      // @ts-expect-error -- the keys differ
      airports.join(byNumber, (airport) => airport);
      // @ts-expect-error -- the row may be null
      flights.leftJoin(airports, (_flight, airport) => airport.city);
      // @ts-expect-error -- the other's row may be null
      airports.leftJoin(names, (_airport, name) => name.length);
      // @ts-expect-error -- this row may be null
      airports.outerJoin(names, (airport) => airport.city);
      // @ts-expect-error -- a global table is asked by a key that the stream names
      flights.join(cities, (flight) => flight);
      const byKey = [airports, (key: string) => key, (flight: Flight) => flight] as const;
      // @ts-expect-error -- a table has no key mapper
      flights.join(...byKey);
      // @ts-expect-error -- its keys are numbers
      flights.join(
        cities,
        (key: string) => key,
        (flight: Flight) => flight,
      );
      // @ts-expect-error -- a global table joins no table
      airports.join(cities, (airport) => airport);
      // @ts-expect-error -- the joined values are texts
      flights.join(names, (_flight, name) => name, { result: serdes.long() });
      // @ts-expect-error -- a global table has no changes to stream
      cities.toStream();
    };
    expectTypeOf(wrong).toBeFunction();
  });
});

describe('types of suppress', () => {
  const counts = flights
    .groupByKey()
    .windowedBy(timeWindows({ size: '1h' }))
    .count();

  it('keep those of the table', () => {
    expectTypeOf(counts.suppress(untilWindowCloses())).toEqualTypeOf<
      KTable<Windowed<string>, number>
    >();
    expectTypeOf(names.suppress(untilTimeLimit('5m', { maxRecords: 10 }))).toEqualTypeOf<
      KTable<string, string>
    >();
  });

  it('refuse what does not fit', () => {
    const wrong = (): void => {
      // @ts-expect-error -- only windows close
      names.suppress(untilWindowCloses());
      // @ts-expect-error -- a final result is never emitted early
      untilWindowCloses({ maxRecords: 1, whenFull: 'emitEarly' });
    };
    expectTypeOf(wrong).toBeFunction();
  });
});
