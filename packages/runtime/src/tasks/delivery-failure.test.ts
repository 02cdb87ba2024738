import { describe, expect, it } from 'vitest';
import { AuthorizationError, RecordTooLargeError } from '../client/errors.ts';
import type { UndeliveredBatch } from '../client/ports.ts';
import type { DeadLetterRecord, ProductionHandling } from '../error-handlers.ts';
import {
  ExceptionHandlerError,
  ProductionError,
  TaskCorruptedError,
  TimeoutError,
} from '../errors.ts';
import { silentLogger } from '../logging/logger.ts';
import { DeadLetters } from './dead-letters.ts';
import { DeliveryFailures } from './delivery-failure.ts';

const refused = new ProductionError('2 records for out-0 were refused');
const late = new TimeoutError('2 records for out-0 were not acknowledged');

function setUp(production: ProductionHandling, deadLetterTopic: string | null = null) {
  const letters: DeadLetterRecord[] = [];
  const failures = new DeliveryFailures({
    production,
    deadLetterTopic,
    deadLetters: new DeadLetters((record) => {
      letters.push(record);
      return undefined;
    }),
    isDeadLetterTopic: (topic) => topic === deadLetterTopic,
    logger: silentLogger(),
  });
  const ask = (error: Error, topic = 'out'): Error | null => {
    const records = ['a', 'b'].map((value) => ({
      key: Buffer.from('k'),
      value: Buffer.from(value),
      timestamp: 5,
      headers: null,
    }));
    const batch: UndeliveredBatch = {
      topic,
      partition: 0,
      error,
      recordCount: 2,
      records: () => records,
    };
    return failures.undelivered(batch);
  };
  return { ask, letters };
}

describe('DeliveryFailures', () => {
  it('fail for what brokers refuse, and go back to the last commit for what came too late', () => {
    const { ask } = setUp('fail');
    expect(ask(refused)).toBe(refused);
    const tooLarge = new RecordTooLargeError('too large');
    expect(ask(tooLarge)).toMatchObject({ code: 'PRODUCTION_FAILED', cause: tooLarge });
    expect(ask(late)).toBeInstanceOf(TaskCorruptedError);
  });

  it('let go where told to, but not what may still be delivered', () => {
    const { ask } = setUp('continue');
    expect(ask(refused)).toBeNull();
    expect(ask(late)).toBeInstanceOf(TaskCorruptedError);
  });

  it('ask about each record, with its bytes and no source', () => {
    const asked: unknown[] = [];
    const { ask } = setUp((context, record, error) => {
      asked.push([context.topic, context.offset, record.topic, String(record.value), error.stage]);
      return 'continue';
    });
    expect(ask(refused)).toBeNull();
    expect(asked).toEqual([
      [null, -1n, 'out', 'a', 'delivery'],
      [null, -1n, 'out', 'b', 'delivery'],
    ]);
    expect(ask(late)).toBeNull();
  });

  it('take retry for fail where there is nothing to retry', () => {
    const { ask } = setUp(() => 'retry');
    expect(ask(refused)).toBe(refused);
    expect(ask(late)).toBeInstanceOf(TaskCorruptedError);
  });

  it('never ask about what is no fault of the records', () => {
    const { ask } = setUp(() => 'continue');
    const error = new AuthorizationError('not allowed');
    expect(ask(error)).toBe(error);
  });

  it('report a handler that throws', () => {
    const { ask } = setUp(() => {
      throw new Error('broken');
    });
    expect(ask(refused)).toBeInstanceOf(ExceptionHandlerError);
  });

  it('write dead letters of refused records, but none of dead letters', () => {
    const { ask, letters } = setUp('continue', 'dlq');
    expect(ask(refused)).toBeNull();
    expect(letters.map(({ topic, value }) => `${topic} ${String(value)}`)).toEqual([
      'dlq a',
      'dlq b',
    ]);
    expect(ask(refused, 'dlq')).toBe(refused);
    expect(letters).toHaveLength(2);
  });
});
