import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { DeserializationError } from '../errors.ts';
import { createLogger } from './logger.ts';
import { withoutBigints } from './without-bigints.ts';

describe('logging', () => {
  it('keeps all digits of offsets, in fields and in errors', () => {
    const big = 9_007_199_254_740_993n;
    expect(withoutBigints({ a: big, b: [{ c: big }] })).toEqual({
      a: '9007199254740993',
      b: [{ c: '9007199254740993' }],
    });
    const plain = { a: 1 };
    expect(withoutBigints(plain)).toBe(plain);
  });

  it('writes a line for an error that holds an offset', () => {
    const lines: string[] = [];
    const sink = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(chunk.toString());
        done();
      },
    });
    const options = createLogger({ level: 'silent' });
    expect(options.level).toBe('silent');
    const logger = pino({ formatters: { log: (fields) => withoutBigints(fields) } }, sink);
    logger.info({ offset: 2n ** 62n }, 'x');
    expect(lines[0]).toContain('"offset":"4611686018427387904"');
    const error = new DeserializationError('no', { context: { offset: 5n } });
    expect(() => {
      logger.error({ err: error }, 'failed');
    }).not.toThrow();
  });
});
