import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { processIdentity } from './process-identity.ts';

const FILE = 'kafka-streams-process-metadata';

const made: string[] = [];
afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true });
});

function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-identity-'));
  made.push(path);
  return path;
}

function logged(): { logger: pino.Logger; lines: string[] } {
  const lines: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  return { logger, lines };
}

describe('the identity of an instance', () => {
  // Transactional ids are made of it: a random one would fence nobody.
  it('98: stays the same over restarts, as JSON that Kafka Streams reads (iceberg-kafka-connect#200)', () => {
    const path = temporaryDirectory();
    const { logger, lines } = logged();
    const first = processIdentity(path, () => 0.25, logger);
    expect(JSON.parse(readFileSync(join(path, FILE), 'utf8'))).toEqual({ processId: first });
    expect(processIdentity(path, () => 0.75, logger)).toBe(first);
    expect(lines).toEqual([]);
  });

  it('is another one in another directory', () => {
    const { logger } = logged();
    const first = processIdentity(temporaryDirectory(), Math.random, logger);
    expect(processIdentity(temporaryDirectory(), Math.random, logger)).not.toBe(first);
  });

  it.each(['', '{"processId": "8f2', '{"processId": 5}', '[]', 'null', '{"processId": "../x"}'])(
    'is made anew, loudly, if the file holds %j',
    (content) => {
      const path = temporaryDirectory();
      writeFileSync(join(path, FILE), content);
      const { logger, lines } = logged();
      const renewed = processIdentity(path, () => 0.5, logger);
      expect(lines.join()).toContain('cannot be read');
      expect(processIdentity(path, () => 0.75, logger)).toBe(renewed);
    },
  );
});
