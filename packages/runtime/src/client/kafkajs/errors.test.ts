import kafkajs from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { ClientError } from '../errors.ts';
import { ConfigError, StreamsError, TimeoutError } from '../../errors.ts';
import { fromKafkaJs } from './errors.ts';

const {
  KafkaJSConnectionError,
  KafkaJSConnectionClosedError,
  KafkaJSNonRetriableError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
  KafkaJSRequestTimeoutError,
  KafkaJSSASLAuthenticationError,
} = kafkajs as unknown as Record<string, new (...args: unknown[]) => Error>;

function mapped(error: unknown): StreamsError {
  return fromKafkaJs(error, 'Fetch to b:9092', { broker: 'b:9092' });
}

function withCode(code: string): Error {
  return Object.assign(new Error(`it says ${code}`), { code });
}

describe('fromKafkaJs', () => {
  it.each([
    [
      'a refused connection',
      new KafkaJSConnectionError!('refused', { code: 'ECONNREFUSED' }),
      'CONNECTION_FAILED',
      true,
    ],
    [
      'a closed connection',
      new KafkaJSConnectionClosedError!('closed', { host: 'b', port: 1 }),
      'CONNECTION_FAILED',
      true,
    ],
    ['a reset socket', withCode('ECONNRESET'), 'CONNECTION_FAILED', true],
    [
      'an untrusted certificate',
      new KafkaJSConnectionError!('tls', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }),
      'AUTHENTICATION_FAILED',
      false,
    ],
    ['a wrong password', new KafkaJSSASLAuthenticationError!('no'), 'AUTHENTICATION_FAILED', false],
    [
      'code 58',
      new KafkaJSProtocolError!({ message: 'no', code: 58, type: 'SASL_AUTHENTICATION_FAILED' }),
      'AUTHENTICATION_FAILED',
      false,
    ],
    [
      'code 35',
      new KafkaJSProtocolError!({ message: 'no', code: 35, type: 'UNSUPPORTED_VERSION' }),
      'UNSUPPORTED_VERSION',
      false,
    ],
    ['a request without an answer', new KafkaJSRequestTimeoutError!('late'), 'TIMEOUT', true],
    [
      'used-up retries over a reset',
      new KafkaJSNumberOfRetriesExceeded!(withCode('ECONNRESET'), { retryCount: 5, retryTime: 1 }),
      'CONNECTION_FAILED',
      true,
    ],
    [
      'a nested login failure',
      new KafkaJSNonRetriableError!(new Error('x'), {
        cause: new KafkaJSSASLAuthenticationError!('no'),
      }),
      'AUTHENTICATION_FAILED',
      false,
    ],
    ['what nobody knows', new Error('odd'), 'CLIENT_FAILED', false],
    [
      'an unknown kafkajs error that calls itself retriable',
      new KafkaJSProtocolError!({ message: 'x', code: -99, retriable: true }),
      'CLIENT_FAILED',
      false,
    ],
    ['no error at all', 'text', 'CLIENT_FAILED', false],
  ])('takes %s for what it is', (_, error, code, isRetriable) => {
    const found = mapped(error);
    expect([found.code, found.retriable]).toEqual([code, isRetriable]);
    expect(found.message).toMatch(/^Fetch to b:9092: /);
    expect(found.cause).toBe(error);
    expect(found.context).toEqual({ broker: 'b:9092' });
  });

  it('leaves our own errors alone and ends on causes that go round', () => {
    const own = new TimeoutError('late');
    expect(mapped(own)).toBe(own);
    const round = new Error('round');
    round.cause = round;
    expect(mapped(round)).toBeInstanceOf(ClientError);
    expect(mapped(new ConfigError('x'))).toBeInstanceOf(ConfigError);
  });
});
