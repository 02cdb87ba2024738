import { TopologyError } from '../errors.ts';
import type { Windowed } from '../serdes/windowed-key.ts';
import type { Logging } from '../state/store-builders.ts';
import { durationMs, type Duration } from './duration.ts';
import type { NamedOptions } from './options.ts';

/** How much a suppressed table may keep, and what becomes of it over a restart. */
export interface SuppressBufferOptions extends NamedOptions {
  /** Keys; unbounded by default. */
  readonly maxRecords?: number | undefined;
  /** Bytes, by Kafka Streams' estimate: keys, values, headers and about 30 bytes a record; unbounded by default. */
  readonly maxBytes?: number | undefined;
  /** `false`: no changelog, so what is kept does not survive the process. An object: topic configs for the changelog. */
  readonly logging?: Logging | undefined;
}

export interface UntilWindowClosesOptions extends SuppressBufferOptions {
  /** A window has one final result, so none may be emitted early: processing ends. */
  readonly whenFull?: 'shutDown' | undefined;
}

export interface UntilTimeLimitOptions extends SuppressBufferOptions {
  /** `emitEarly` (the default): the earliest change is passed on before its time. `shutDown`: processing ends. */
  readonly whenFull?: 'emitEarly' | 'shutDown' | undefined;
}

/** What `suppress` is given; made by `untilWindowCloses` or `untilTimeLimit`. */
export interface Suppressed<K> {
  readonly until: 'windowCloses' | 'timeLimit';
  readonly timeOf: (key: K, timestamp: number) => number;
  /** null: the windows' grace. */
  readonly waitMs: number | null;
  readonly maxRecords: number;
  readonly maxBytes: number;
  readonly whenFull: 'emitEarly' | 'shutDown';
  readonly name: string | undefined;
  readonly logging: Logging | undefined;
}

/** Keeps back each window's result until the window closes, so that only the final one is passed on. */
export function untilWindowCloses(
  options: UntilWindowClosesOptions = {},
): Suppressed<Windowed<unknown>> {
  return {
    until: 'windowCloses',
    timeOf: (key) => key.end,
    waitMs: null,
    ...bounds(options),
    whenFull: 'shutDown',
    name: options.name,
    logging: options.logging,
  };
}

/** Passes on no more than one change per key and `limit`: the last one. */
export function untilTimeLimit(
  limit: Duration,
  options: UntilTimeLimitOptions = {},
): Suppressed<unknown> {
  return {
    until: 'timeLimit',
    timeOf: (_key, timestamp) => timestamp,
    waitMs: durationMs(limit, 'limit of suppress'),
    ...bounds(options),
    whenFull: options.whenFull ?? 'emitEarly',
    name: options.name,
    logging: options.logging,
  };
}

function bounds(options: SuppressBufferOptions): { maxRecords: number; maxBytes: number } {
  const { maxRecords = Infinity, maxBytes = Infinity } = options;
  return { maxRecords: bound(maxRecords, 'maxRecords'), maxBytes: bound(maxBytes, 'maxBytes') };
}

function bound(value: number, what: string): number {
  if (value >= 0) return value;
  throw new TopologyError(
    `${what} of suppress is ${String(value)}: give a number that is not negative, or leave it out for no bound.`,
  );
}
