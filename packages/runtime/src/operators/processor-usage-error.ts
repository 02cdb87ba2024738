import { StreamsError, type ErrorOptions } from '../errors.ts';

/** A processor did what the Processor API does not allow; the processing handler decides, as about any error of it. */
export class ProcessorUsageError extends StreamsError {
  constructor(message: string, options?: ErrorOptions) {
    super('PROCESSOR_MISUSED', 'record', false, message, options);
  }
}
