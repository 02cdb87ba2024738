import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import type { RecordSerde } from './serde.ts';
import { serdes } from './serdes.ts';
import { SerializationError } from './serialization-error.ts';

const read = <T>(serde: RecordSerde<T>, text: string): T =>
  serde.deserialize(Buffer.from(text), 't', null);
const write = <T>(serde: RecordSerde<T>, value: T): string =>
  Buffer.from(serde.serialize(value, 't', null)).toString();

interface Flight {
  origin: string;
  delay: number;
}

describe('JSON with a schema of', () => {
  const flight = { origin: 'JFK', delay: 3 };
  it.each<[string, RecordSerde<Flight>]>([
    ['zod', serdes.json(z.object({ origin: z.string(), delay: z.number().int() }))],
    [
      'valibot',
      serdes.json(v.object({ origin: v.string(), delay: v.pipe(v.number(), v.integer()) })),
    ],
    ['arktype', serdes.json(type({ origin: 'string', delay: 'number.integer' }))],
  ])('%s', (vendor, serde) => {
    expect(read(serde, '{"origin":"JFK","delay":3}')).toEqual(flight);
    expect(write(serde, flight)).toBe('{"origin":"JFK","delay":3}');
    const refused = (): unknown => read(serde, '{"origin":1,"delay":0.5}');
    expect(refused).toThrow(SerializationError);
    expect(refused).toThrow(vendor);
    expect(refused).toThrow('origin: ');
    expect(refused).toThrow('delay: ');
    // Written unchecked, unless asked for.
    expect(write(serde, { origin: 'JFK', delay: 0.5 })).toBe('{"origin":"JFK","delay":0.5}');
  });
});

describe('a schema', () => {
  it('is asked about what is written, when that is wanted', () => {
    const serde = serdes.json(z.object({ delay: z.number() }), { validateOnWrite: true });
    expect(write(serde, { delay: 1 })).toBe('{"delay":1}');
    expect(() => write(serde, { delay: 'x' as never })).toThrow('was to write');
    // Its JSON would be null.
    expect(() => write(serde, { delay: Number.NaN })).toThrow(SerializationError);
  });

  it('may make another type of the JSON, which is what a store hands out, too', () => {
    const serde = serdes.json(z.object({ at: z.coerce.date() }), { validateOnWrite: true });
    expectTypeOf(serde).toEqualTypeOf<RecordSerde<{ at: Date }>>();
    const value = { at: new Date(86_400_000) };
    expect(write(serde, value)).toBe('{"at":"1970-01-02T00:00:00.000Z"}');
    expect(read(serde, write(serde, value))).toEqual(value);
    expect(serde.snapshot?.restore(serde.snapshot.take(value))).toEqual(value);
  });

  it("that validates asynchronously is refused, and its promise is nobody else's business", async () => {
    const later = z.string().refine(async () => Promise.resolve(true));
    expect(() => read(serdes.json(later), '"x"')).toThrow('asynchronously');
    const valibot = v.pipeAsync(
      v.string(),
      v.checkAsync(async () => Promise.reject(new Error('late'))),
    );
    expect(() => read(serdes.json(valibot), '"x"')).toThrow('mapValues');
    await new Promise((resolve) => setImmediate(resolve));
  });

  it('names a few problems and counts the rest', () => {
    const serde = serdes.json(z.array(z.string()));
    expect(() => read(serde, JSON.stringify([1, 2, 3, 4, 5, 6, 7]))).toThrow(
      /4: .*; and 2 more\.$/,
    );
    expect(() => read(serde, '1')).toThrow(/refuses: Invalid input/);
  });

  it('may stand behind any serde', () => {
    const brand = z
      .string()
      .regex(/^[A-Z]{3}$/)
      .brand<'Airport'>();
    const serde = serdes.validated(serdes.string(), brand, { validateOnWrite: true });
    expectTypeOf(serde).toEqualTypeOf<RecordSerde<z.infer<typeof brand>>>();
    expect(read(serde, 'JFK')).toBe('JFK');
    expect(serde.isImmutable).toBe(true);
    expect(() => read(serde, 'jfk')).toThrow('validated(string)');
    expect(() => write(serde, 'x' as never)).toThrow('was to write');
    // @ts-expect-error -- the schema takes numbers, the serde reads strings
    serdes.validated(serdes.string(), z.number());
  });
});
