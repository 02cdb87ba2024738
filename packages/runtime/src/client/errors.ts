import { errorByCode } from '@millrace/protocol';
import { StreamsError } from '../errors.ts';
import type { ErrorOptions, ErrorScope } from '../errors.ts';

/** No connection to the broker, or it broke: whatever was under way may or may not have happened. */
export class ConnectionError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('CONNECTION_FAILED', 'task', true, message, options);
  }
}

/** What came over the connection is no response of a Kafka broker. */
export class FrameError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('RESPONSE_FRAME_INVALID', 'task', true, message, options);
  }
}

/** The broker does not accept who we say we are. */
export class AuthenticationError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('AUTHENTICATION_FAILED', 'client', false, message, options);
  }
}

/** We are known, but not allowed to do this. */
export class AuthorizationError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('AUTHORIZATION_FAILED', 'client', false, message, options);
  }
}

/** The broker speaks no version of an API that we speak. */
export class UnsupportedVersionError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('UNSUPPORTED_VERSION', 'client', false, message, options);
  }
}

/** The position lies outside of the log; the reset policy decides. */
export class OffsetOutOfRangeError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('OFFSET_OUT_OF_RANGE', 'task', false, message, options);
  }
}

/** A fetched partition holds something that is no record batch, or one of a format before Kafka 0.11. */
export class CorruptFetchError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('FETCH_CORRUPT', 'task', false, message, options);
  }
}

/** A record is larger than the producer or the broker's topic allows. */
export class RecordTooLargeError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('RECORD_TOO_LARGE', 'record', false, message, options);
  }
}

/** A topic or partition that must exist does not. */
export class MissingTopicError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('TOPIC_MISSING', 'client', false, message, options);
  }
}

/** A broker answered with an error code that has no class of its own. */
export class BrokerError extends StreamsError {
  /** Kafka's number and name, e.g. 41 `NOT_CONTROLLER`. */
  readonly kafkaCode: number;
  readonly kafkaName: string;

  constructor(kafkaCode: number, scope: ErrorScope, message: string, options?: ErrorOptions) {
    const { name, retriable } = errorByCode(kafkaCode);
    super('BROKER_ERROR', scope, retriable, `${message}: ${name} (${kafkaCode})`, options);
    this.kafkaCode = kafkaCode;
    this.kafkaName = name;
  }
}

/** Something failed that has no known remedy; never taken for retriable. */
export class ClientError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('CLIENT_FAILED', 'client', false, message, options);
  }
}
