import { StreamsError, type ErrorOptions } from '../errors.ts';

/** A test driver or one of its topics was asked for what it cannot do; the message says what it has. */
export class TestDriverError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('TEST_DRIVER_MISUSED', 'client', false, message, options);
  }
}
