import { errorCodes, type ErrorName } from '@millrace/protocol';
import { BrokerError } from '../errors.ts';

/** A change to a topic that is refused, with the name of Kafka's error code for it. */
export class TopicError extends BrokerError {
  readonly errorCode: number;

  constructor(errorName: ErrorName, message: string, options?: ErrorOptions) {
    super(errorName, message, options);
    this.errorCode = errorCodes[errorName];
  }
}
