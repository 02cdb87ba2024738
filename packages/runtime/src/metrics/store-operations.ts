import type { Clock } from '../platform/clock.ts';
import { WindowedValues } from './windows.ts';

const NS_PER_MS = 1_000_000;

/** Kafka Streams' name for what a method of a store does, by kind of store. */
const keyValueOperations = {
  get: 'get',
  getEntry: 'get',
  getAsOf: 'get',
  getRecord: 'get',
  put: 'put',
  putIfAbsent: 'put-if-absent',
  putAll: 'put-all',
  delete: 'delete',
  range: 'range',
  reverseRange: 'range',
  all: 'all',
  reverseAll: 'all',
  prefixScan: 'prefix-scan',
  history: 'range',
} as const;

const windowedOperations = {
  get: 'fetch',
  put: 'put',
  remove: 'remove',
  fetch: 'fetch',
  backwardFetch: 'fetch',
  fetchRange: 'fetch',
  backwardFetchRange: 'fetch',
  fetchAll: 'fetch',
  backwardFetchAll: 'fetch',
  all: 'fetch',
  backwardAll: 'fetch',
  fetchSession: 'fetch',
  findSessions: 'fetch',
  backwardFindSessions: 'fetch',
  findSessionsRange: 'fetch',
  backwardFindSessionsRange: 'fetch',
  findSessionsByEnd: 'fetch',
} as const;

const commonOperations = { flush: 'flush', commit: 'commit' } as const;

/** One operation of a store. */
interface StoreOperation {
  count: number;
  /** ns; of an iterator from the call to its end. */
  readonly latency: WindowedValues;
}

export interface TimedStore {
  readonly operations: ReadonlyMap<string, StoreOperation>;
  /** How long iterators were open, ns; null if the store has none. */
  readonly iterators: WindowedValues | null;
  /** The store is as it was. */
  stop(): void;
}

type Methods = Record<string, ((...args: unknown[]) => unknown) | undefined>;

/**
 * Counts and times the calls of a store from here on, in place, so that whoever has it already is timed as
 * well. A call that the store makes of itself counts with the one that it belongs to.
 */
export function timeStore(store: object, clock: Pick<Clock, 'monotonicMs'>): TimedStore {
  const isWindowed = 'fetch' in store;
  const names = { ...(isWindowed ? windowedOperations : keyValueOperations), ...commonOperations };
  const operations = new Map<string, StoreOperation>();
  const methods = store as Methods;
  const timed: string[] = [];
  let iterators: WindowedValues | null = null;
  let depth = 0;
  for (const [method, operation] of Object.entries(names)) {
    const original = methods[method];
    if (typeof original !== 'function') continue;
    const measured = operations.get(operation) ?? { count: 0, latency: new WindowedValues() };
    operations.set(operation, measured);
    const ended = (startMs: number): number => {
      const ns = (clock.monotonicMs() - startMs) * NS_PER_MS;
      measured.latency.record(ns);
      return ns;
    };
    methods[method] = (...args) => {
      if (depth > 0) return original.apply(store, args);
      const startMs = clock.monotonicMs();
      measured.count++;
      depth++;
      let result: unknown;
      try {
        result = original.apply(store, args);
      } finally {
        depth--;
      }
      if (isIterator(result)) {
        const durations = (iterators ??= new WindowedValues());
        return timedIterator(result, () => {
          durations.record(ended(startMs));
        });
      }
      ended(startMs);
      return result;
    };
    timed.push(method);
  }
  if (timed.some((method) => /all|range|fetch/i.test(method))) iterators ??= new WindowedValues();
  return {
    operations,
    iterators,
    stop: () => {
      // The methods themselves are those of the class.
      for (const method of timed) Reflect.deleteProperty(store, method);
    },
  };
}

function isIterator(result: unknown): result is IterableIterator<unknown> {
  return (
    typeof result === 'object' && result !== null && Symbol.iterator in result && 'next' in result
  );
}

function* timedIterator(
  inner: IterableIterator<unknown>,
  onEnd: () => void,
): Generator<unknown, void> {
  try {
    yield* inner;
  } finally {
    onEnd();
  }
}
