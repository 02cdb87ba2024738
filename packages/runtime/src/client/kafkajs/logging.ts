import { logLevel } from 'kafkajs';
import type { logCreator } from 'kafkajs';
import type { Logger } from 'pino';

/**
 * kafkajs's lines, two levels lower: every failure comes to us as an error too, is handled or
 * reported there, and is no news of its own.
 */
export function kafkaJsLogCreator(logger: Logger): logCreator {
  const child = logger.child({ library: 'kafkajs' });
  return () =>
    ({ namespace, level, log }) => {
      const { message, ...rest } = log;
      // pino has a time and a name of its own.
      const fields: Record<string, unknown> = { ...rest, timestamp: undefined, logger: undefined };
      const text = namespace === '' ? message : `[${namespace}] ${message}`;
      if (level === logLevel.DEBUG) child.trace(fields, text);
      else child.debug(fields, text);
    };
}

/** What kafkajs need not even put together. */
export function kafkaJsLogLevel(logger: Logger): logLevel {
  if (logger.isLevelEnabled('trace')) return logLevel.DEBUG;
  if (logger.isLevelEnabled('debug')) return logLevel.INFO;
  return logLevel.NOTHING;
}
