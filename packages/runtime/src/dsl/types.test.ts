import { describe, expectTypeOf, it } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
import type { KStream, KTable } from './streams.ts';
import { StreamsBuilder } from './streams-builder.ts';
import { timeWindows } from './time-windows.ts';

interface Flight {
  readonly origin: string;
  readonly delay: number;
}

describe('types', () => {
  const builder = new StreamsBuilder();
  const flights = builder.stream('flights', { key: serdes.string(), value: serdes.json<Flight>() });
  const airports = builder.table('airports', { key: serdes.string(), value: serdes.uuid() });

  it('infer from the source through the chain, without annotations', () => {
    expectTypeOf(flights).toEqualTypeOf<KStream<string, Flight>>();
    const joined = flights.join(airports, (flight, airport) => ({ ...flight, airport }));
    expectTypeOf(joined).toExtend<KStream<string, Flight & { airport: string }>>();
    const left = flights.leftJoin(airports, (_flight, airport) => airport);
    expectTypeOf(left).toEqualTypeOf<KStream<string, string | null>>();
    const mapped = flights.map((_key, flight) => [flight.delay, flight.origin]);
    expectTypeOf(mapped).toEqualTypeOf<KStream<number, string>>();
    const flat = flights.flatMapValues((flight) => flight.origin.split(''));
    expectTypeOf(flat).toEqualTypeOf<KStream<string, string>>();
    const stats = flights
      .groupBy((_key, flight) => flight.origin, { key: serdes.string() })
      .windowedBy(timeWindows({ size: '1d' }))
      .aggregate(
        () => ({ count: 0 }),
        (_key, _flight, { count }) => ({ count: count + 1 }),
        { value: serdes.json() },
      );
    expectTypeOf(stats).toEqualTypeOf<KTable<Windowed<string>, { count: number }>>();
    expectTypeOf(flights.groupByKey().count()).toEqualTypeOf<KTable<string, number>>();
  });

  it('see through promises', () => {
    const later = flights.mapValues((flight) => Promise.resolve(flight.delay));
    expectTypeOf(later).toEqualTypeOf<KStream<string, number>>();
    const keyed = flights.selectKey(async (key, flight) => Promise.resolve(key + flight.origin));
    expectTypeOf(keyed).toEqualTypeOf<KStream<string, Flight>>();
  });

  it('refuse what does not fit', () => {
    // @ts-expect-error -- a number serde for texts
    flights.mapValues((flight) => flight.origin, { value: serdes.long() });
    // @ts-expect-error -- the sink's value serde is of another type
    flights.to('out', { value: serdes.string() });
    // @ts-expect-error -- there is no such field
    flights.filter((_key, flight) => flight.arrival > 1);
    // @ts-expect-error -- the keys differ
    flights.selectKey((_key, flight) => flight.delay).join(airports, (flight) => flight);
  });
});
