import type { Duration } from '../duration.ts';
import { TopologyError } from '../errors.ts';
import { SEGMENT_INTERVAL_MIN_MS } from './limits.ts';
import type { StoreType } from './store.ts';
import { checkedEntries, checkedMs, checkedType } from './store-options.ts';

/** Which key-value store a table has, when it is to be another than the application's default. */
export interface KeyValueStoreSupplier {
  readonly kind: 'keyValue';
  /** null: the application's default. */
  readonly type: StoreType | null;
  /** False: entries keep no timestamp, and read as -1. */
  readonly isTimestamped: boolean;
  /** Keeps only so many keys, those used last; null: all. */
  readonly maxEntries: number | null;
}

/** Which window store a windowed aggregation has; retention and size are then the store's own. */
export interface WindowStoreSupplier {
  readonly kind: 'window';
  readonly type: StoreType | null;
  readonly retentionMs: number;
  readonly windowSizeMs: number;
  readonly isTimestamped: boolean;
}

/** Which session store an aggregation has; its retention is then the store's own. */
export interface SessionStoreSupplier {
  readonly kind: 'session';
  readonly type: StoreType | null;
  readonly retentionMs: number;
  readonly isTimeOrdered: boolean;
}

/** A store with history (KIP-889). */
export interface VersionedStoreSupplier {
  readonly kind: 'versioned';
  readonly historyRetentionMs: number;
  readonly segmentIntervalMs: number;
}

export interface KeyValueSupplierOptions {
  readonly type?: StoreType | undefined;
  /** Default true. */
  readonly timestamped?: boolean | undefined;
}

export interface LruSupplierOptions {
  readonly maxEntries: number;
  /** Default true. */
  readonly timestamped?: boolean | undefined;
}

export interface WindowSupplierOptions {
  readonly type?: StoreType | undefined;
  /** At least the window size. */
  readonly retention: Duration;
  readonly windowSize: Duration;
  /** Default true. */
  readonly timestamped?: boolean | undefined;
}

export interface SessionSupplierOptions {
  readonly type?: StoreType | undefined;
  /** At least the inactivity gap and the grace period together: a session expires by its end. */
  readonly retention: Duration;
  /**
   * A persistent store keeps an index by end, so that `findSessionsByEnd` costs what it finds, and each
   * write a second row. Default false: then it goes through whole segments. In-memory stores need none.
   */
  readonly timeOrdered?: boolean | undefined;
}

export interface VersionedSupplierOptions {
  /** How far back the history goes, which is also how late a write may be. */
  readonly historyRetention: Duration;
  /** In steps of this the history is forgotten; default a part of the retention. Never seen by readers. */
  readonly segmentInterval?: Duration | undefined;
}

/**
 * Stores for `supplier` in the options of a table: Kafka Streams' `Stores` suppliers. Name, serdes,
 * logging and caching stay with the table's options.
 */
export const storeSuppliers = {
  keyValue(options: KeyValueSupplierOptions = {}): KeyValueStoreSupplier {
    return {
      kind: 'keyValue',
      type: checkedType(options.type, 'a key-value store'),
      isTimestamped: options.timestamped ?? true,
      maxEntries: null,
    };
  },

  lru(options: LruSupplierOptions): KeyValueStoreSupplier {
    return {
      kind: 'keyValue',
      type: 'inMemory',
      isTimestamped: options.timestamped ?? true,
      maxEntries: checkedEntries(options.maxEntries, 'maxEntries of an LRU store'),
    };
  },

  window(options: WindowSupplierOptions): WindowStoreSupplier {
    const retentionMs = checkedMs(options.retention, 0, 'retention of a window store');
    const windowSizeMs = checkedMs(options.windowSize, 0, 'windowSize of a window store');
    if (windowSizeMs > retentionMs) {
      throw new TopologyError(
        `The retention of a window store is ${String(retentionMs)} ms, but its windows have ${String(windowSizeMs)} ms: ` +
          'give it at least as long a retention.',
      );
    }
    return {
      kind: 'window',
      type: checkedType(options.type, 'a window store'),
      retentionMs,
      windowSizeMs,
      isTimestamped: options.timestamped ?? true,
    };
  },

  session(options: SessionSupplierOptions): SessionStoreSupplier {
    return {
      kind: 'session',
      type: checkedType(options.type, 'a session store'),
      retentionMs: checkedMs(options.retention, 0, 'retention of a session store'),
      isTimeOrdered: options.timeOrdered ?? false,
    };
  },

  versioned(options: VersionedSupplierOptions): VersionedStoreSupplier {
    const historyRetentionMs = checkedMs(
      options.historyRetention,
      0,
      'historyRetention of a versioned store',
    );
    const interval = options.segmentInterval ?? versionedSegmentMs(historyRetentionMs);
    return {
      kind: 'versioned',
      historyRetentionMs,
      segmentIntervalMs: checkedMs(interval, 1, 'segmentInterval of a versioned store'),
    };
  },
} as const;

/** Of a persistent window or session store: half its retention, but not less than a minute. */
export function windowSegmentMs(retentionMs: number): number {
  return Math.max(Math.floor(retentionMs / 2), SEGMENT_INTERVAL_MIN_MS);
}

/** Kafka's steps: the longer the history, the smaller a part of it is a segment. */
function versionedSegmentMs(historyRetentionMs: number): number {
  if (historyRetentionMs <= 60_000) return Math.max(Math.floor(historyRetentionMs / 3), 2_000);
  if (historyRetentionMs <= 300_000) return Math.max(Math.floor(historyRetentionMs / 5), 20_000);
  if (historyRetentionMs <= 3_600_000) return Math.max(Math.floor(historyRetentionMs / 12), 60_000);
  return Math.max(Math.floor(historyRetentionMs / 24), 300_000);
}
