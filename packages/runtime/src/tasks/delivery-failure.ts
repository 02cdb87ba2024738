import type { Logger } from 'pino';
import type { ErrorHandlerContext, HandlerAnswer, ProductionHandling } from '../error-handlers.ts';
import type { ProductionError } from '../errors.ts';

const noRecord: ErrorHandlerContext = {
  taskId: '',
  processorNodeId: '',
  topic: null,
  partition: -1,
  offset: -1n,
  timestamp: -1,
  headers: null,
  sourceRawKey: null,
  sourceRawValue: null,
};

/** The handler's word on records that the brokers refused: which ones they came from is no longer known. */
export function decideOnDelivery(
  handling: ProductionHandling,
  logger: Logger,
  error: ProductionError,
): HandlerAnswer {
  const { topic, partition } = error.context;
  const record = {
    topic: String(topic),
    partition: Number(partition),
    key: null,
    value: null,
    timestamp: -1,
    headers: null,
  };
  const result = typeof handling === 'function' ? handling(noRecord, record, error) : handling;
  const answer = typeof result === 'string' ? result : result.answer;
  if (answer !== 'continue') return 'fail';
  logger.warn({ err: error }, 'records were refused by the broker and are dropped');
  return 'continue';
}
