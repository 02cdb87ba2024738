import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Serde } from './serde.ts';
import { serdes } from './serdes.ts';
import { SerializationError } from './serialization-error.ts';
import type { StringEncoding } from './string-encodings.ts';
import { Windowed } from './windowed-key.ts';

/** A line of the file that fixtures/SerdeFixtures.java makes with Kafka's own serdes. */
interface Fixture {
  readonly serde: string;
  readonly hex: string;
  /** What Kafka wrote as these bytes. */
  readonly value?: unknown;
  /** What Kafka read from them, if it is not `value`. */
  readonly read?: unknown;
  /** The class of what Kafka threw instead. */
  readonly error?: string;
}

const path = new URL('fixtures/kafka-serdes.jsonl', import.meta.url);
const fixtures = readFileSync(path, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Fixture);

function serdeOf(name: string): Serde<unknown> {
  const match = /^(\w+)(?:\((.*)\))?(\?)?$/.exec(name);
  const [, kind, inner = '', nulls] = match ?? [];
  switch (kind) {
    case 'string':
      return serdes.string(inner === '' ? 'UTF-8' : (inner as StringEncoding));
    case 'list':
      return nulls === undefined
        ? serdes.list(serdeOf(inner))
        : serdes.list(serdeOf(inner), { nulls: true });
    case 'timeWindowed':
      return serdes.timeWindowed(serdeOf(inner), 10);
    case 'sessionWindowed':
      return serdes.sessionWindowed(serdeOf(inner));
    default:
      return serdes[kind as 'long']();
  }
}

/** The value that a fixture shows. */
function valueOf(name: string, shown: unknown): unknown {
  if (name.startsWith('list(')) {
    const inner = /^list\((.*)\)\??$/.exec(name)?.[1] ?? '';
    return (shown as unknown[]).map((entry) => (entry === null ? null : valueOf(inner, entry)));
  }
  switch (name) {
    case 'bigint':
      return BigInt(shown as string);
    case 'double':
    case 'float':
      return Number(shown);
    case 'bytes':
      return Buffer.from(shown as string, 'hex');
    case 'timeWindowed(string)':
    case 'sessionWindowed(string)': {
      if (shown === null) return null;
      const { key, start, end } = shown as Record<'key' | 'start' | 'end', string>;
      return new Windowed(key, Number(start), Number(end));
    }
    default:
      return shown;
  }
}

/** Kafka reads windows beyond 2^53 ms, which no number holds; we refuse them. */
function isBeyondNumbers(shown: unknown): boolean {
  return (
    typeof shown === 'object' &&
    shown !== null &&
    'end' in shown &&
    !Number.isSafeInteger(Number(shown.end))
  );
}

const names = [...new Set(fixtures.map(({ serde }) => serde))];

it.each(names)('%s writes, reads and refuses as Kafka does', (name) => {
  const serde = serdeOf(name);
  for (const fixture of fixtures.filter((one) => one.serde === name)) {
    const { hex, value, error } = fixture;
    if (value !== undefined) {
      const bytes = serde.serialize(valueOf(name, value), 'topic', null);
      expect(Buffer.from(bytes).toString('hex'), JSON.stringify(value)).toBe(hex);
    }
    const read = (): unknown => serde.deserialize(Buffer.from(hex, 'hex'), 'topic', null);
    const shown = 'read' in fixture ? fixture.read : value;
    if (error !== undefined || isBeyondNumbers(shown)) {
      expect(read, hex).toThrow(SerializationError);
    } else {
      expect(read(), hex).toEqual(valueOf(name, shown));
    }
  }
});

it('has fixtures of every serde', () => {
  const kinds = new Set(fixtures.map(({ serde }) => /^\w+/.exec(serde)?.[0]));
  const others = ['json', 'validated', 'custom'];
  expect([...kinds, ...others].sort()).toEqual(Object.keys(serdes).sort());
});
