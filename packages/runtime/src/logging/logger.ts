import type { DestinationStream, Logger, LoggerOptions } from 'pino';
import { pino } from 'pino';
import { withoutBigints } from './without-bigints.ts';

/**
 * The runtime's own logger: pino, one JSON line per event, on standard output unless there is a
 * destination. Offsets are bigints; they are written as strings, because a JSON number would lose
 * digits in most readers.
 */
export function createLogger(options: LoggerOptions = {}, destination?: DestinationStream): Logger {
  const complete: LoggerOptions = {
    name: 'millrace',
    ...options,
    serializers: { ...loggerSerializers, ...options.serializers },
    formatters: { ...options.formatters, log: (fields) => withoutBigints(fields) },
  };
  return destination === undefined ? pino(complete) : pino(complete, destination);
}

const loggerSerializers: NonNullable<LoggerOptions['serializers']> = {
  err: (error: unknown) =>
    error instanceof Error ? withoutBigints(pino.stdSerializers.err(error)) : error,
};

/** A logger that says nothing. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
