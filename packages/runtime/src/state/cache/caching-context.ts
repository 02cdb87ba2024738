import type { RecordCache } from './record-cache.ts';

/** Where a record came from, as nodes below see it. */
export interface CachedOrigin {
  readonly topic: string | null;
  readonly partition: number;
  readonly offset: bigint;
  /** The source record's bytes, if somebody may ask for them when a node fails. */
  readonly rawKey?: Buffer | null;
  readonly rawValue?: Buffer | null;
}

/** The same as an entry keeps it: the offset as its batch's base and a distance, so that none is made per record. */
export interface OriginCopy {
  topic: string | null;
  partition: number;
  baseOffset: bigint;
  offsetDelta: number;
  rawKey: Buffer | null;
  rawValue: Buffer | null;
}

/** What a task has for the record caches of its stores. */
export interface CachingContext {
  readonly cache: RecordCache;
  /** Writes where the record in hand came from into `target`. */
  copyOrigin(target: OriginCopy): void;
  /** While it is set, nodes see this as the origin of the record in hand. */
  origin: CachedOrigin | null;
}
