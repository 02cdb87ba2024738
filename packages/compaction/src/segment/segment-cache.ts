import type { Segment } from './segment.ts';

export interface SegmentCacheLimits {
  readonly maxOpenSegments: number;
  readonly maxIndexBytes: number;
}

/**
 * Which inactive segments of a log directory keep their file open and their indexes in memory: the
 * ones used last. Active segments are not its business.
 */
export class SegmentCache {
  readonly #limits: SegmentCacheLimits;
  /** In order of use, the oldest first; with the index bytes last seen. */
  readonly #segments = new Map<Segment, number>();
  #indexBytes = 0;

  constructor(limits: SegmentCacheLimits) {
    this.#limits = limits;
  }

  get openCount(): number {
    return this.#segments.size;
  }

  /** To be called after each use of an inactive segment. */
  touch(segment: Segment): void {
    const before = this.#segments.get(segment) ?? 0;
    const bytes = segment.memoryBytes;
    this.#segments.delete(segment);
    this.#segments.set(segment, bytes);
    this.#indexBytes += bytes - before;
    for (const oldest of this.#segments.keys()) {
      const isFull =
        this.#segments.size > this.#limits.maxOpenSegments ||
        this.#indexBytes > this.#limits.maxIndexBytes;
      if (!isFull || oldest === segment) break;
      this.forget(oldest);
      oldest.release();
    }
  }

  /** The segment is gone or has become active. */
  forget(segment: Segment): void {
    this.#indexBytes -= this.#segments.get(segment) ?? 0;
    this.#segments.delete(segment);
  }
}
