import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino } from 'pino';
import { withoutBigints } from './without-bigints.ts';

/**
 * The runtime's own logger: pino, one JSON line per event. Offsets are bigints; they are written as
 * strings, because a JSON number would lose digits in most readers.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  return pino({
    name: 'millrace',
    ...options,
    serializers: { ...loggerSerializers, ...options.serializers },
    formatters: { ...options.formatters, log: (fields) => withoutBigints(fields) },
  });
}

const loggerSerializers: NonNullable<LoggerOptions['serializers']> = {
  err: (error: unknown) =>
    error instanceof Error ? withoutBigints(pino.stdSerializers.err(error)) : error,
};

/** A logger that says nothing. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
