import { describe, expect, it } from 'vitest';
import { apiKeyName, apiKeys } from './api-keys.ts';
import { errorByCode, errorCodes } from './errors.ts';
import { apis } from './messages/apis.ts';
import { readFixture } from './messages/testing-support/fixtures.ts';

describe('error codes', () => {
  const fixture = readFixture('error-codes.jsonl') as [number, string, boolean][];

  it('are those of Kafka 4.4, with its names and its idea of what is worth a retry', () => {
    expect(fixture.length).toBeGreaterThan(130);
    for (const [code, name, retriable] of fixture) {
      expect(errorByCode(code)).toMatchObject({ code, name, retriable });
    }
    const names = fixture.map(([, name]) => name);
    expect(Object.keys(errorCodes).sort()).toEqual(names.sort());
  });

  it('say something', () => {
    for (const [code] of fixture) expect(errorByCode(code).message).toMatch(/^.{8,100}$/);
  });

  it('count as UNKNOWN_SERVER_ERROR when Kafka does not define them', () => {
    expect(errorByCode(9999)).toMatchObject({ code: -1, name: 'UNKNOWN_SERVER_ERROR' });
  });
});

describe('API keys', () => {
  const fixture = readFixture('api-keys.jsonl') as [number, string][];

  it('are those of Kafka 4.4', () => {
    expect(Object.entries(apiKeys).map(([name, key]) => [key, name])).toEqual(fixture);
    expect(apiKeyName(3)).toBe('METADATA');
    expect(apiKeyName(9999)).toBe('API 9999');
  });

  it('are those of the declared messages', () => {
    for (const api of apis.values()) {
      expect(apiKeyName(api.key).replaceAll('_', '')).toBe(api.name.toUpperCase());
    }
  });
});
