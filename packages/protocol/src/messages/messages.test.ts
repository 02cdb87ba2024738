import { describe, expect, it } from 'vitest';
import { defaultMaker } from './defaults.ts';
import type { Fields, FieldType } from './field.ts';
import { readMessageFixtures, schemas } from './testing-support/fixtures.ts';
import { decodeMessage, encodeMessage } from './message.ts';

const fixtures = readMessageFixtures();

/** The value as a decoder must give it: what was not set has its default. */
function complete(fields: Fields, value: Readonly<Record<string, unknown>>): unknown {
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [
      name,
      name in value ? completeValue(field.type, value[name]) : defaultMaker(field)(),
    ]),
  );
}

function completeValue(type: FieldType, value: unknown): unknown {
  if (value === null) return null;
  if (type.kind === 'struct') return complete(type.fields, value as Record<string, unknown>);
  if (type.kind !== 'array') return value;
  return (value as unknown[]).map((element) => completeValue(type.element, element));
}

describe('every message in every version, against the bytes of Kafka 4.4', () => {
  it.each([...schemas.keys()])('%s encodes to and decodes from the same bytes', (name) => {
    for (const { schema, version, kind, bytes, value } of fixtures) {
      if (schema.name !== name) continue;
      const what = `${name} version ${version}, ${kind}`;
      const given = (value ?? {}) as Record<string, unknown>;
      expect(encodeMessage(schema, version, given).toString('hex'), what).toBe(
        bytes.toString('hex'),
      );
      const decoded = decodeMessage(schema, version, bytes);
      expect(decoded, what).toEqual(complete(schema.fields, given));
      expect(encodeMessage(schema, version, decoded).toString('hex'), what).toBe(
        bytes.toString('hex'),
      );
    }
  });

  it('has fixtures for every declared version', () => {
    const covered = new Set(fixtures.map(({ name, version }) => `${name} ${version}`));
    for (const { name, versions } of schemas.values()) {
      // Version 0 of the offset key is the layout of version 1, which Kafka's class knows as 0.
      const last = name === 'OffsetCommitKey' ? 0 : versions.max;
      for (let version = versions.min; version <= last; version++) {
        expect(covered, `${name} version ${version}`).toContain(`${name} ${version}`);
      }
    }
  });
});
