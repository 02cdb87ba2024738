import { longestSegmentMs } from '../config.ts';
import { Segment } from '../segment/segment.ts';
import type { LogState } from './log-state.ts';

/**
 * Starts a new segment if the active one cannot or should not take this append: too large, too old
 * (by record time, or by the clock if its first batch has none), index full, offsets out of reach.
 */
export function maybeRoll(
  state: LogState,
  sizeBytes: number,
  maxTimestamp: number,
  firstOffset: bigint,
  lastOffset: bigint,
): boolean {
  const active = state.segments.active;
  const { config } = state;
  const mustRoll =
    active.sizeBytes > config.segmentBytes - sizeBytes ||
    (active.sizeBytes > 0 && isTooOld(state, active, maxTimestamp)) ||
    active.offsetIndex.isFull(config.segmentIndexBytes) ||
    active.timeIndex.isFull(config.segmentIndexBytes) ||
    !active.fits(lastOffset);
  if (!mustRoll) return false;
  roll(state, firstOffset);
  return true;
}

function isTooOld(state: LogState, active: Segment, maxTimestamp: number): boolean {
  const first = active.firstBatchTimestamp();
  const waitedMs =
    first !== null && first >= 0
      ? maxTimestamp - first
      : state.environment.clock.now() - active.createdMs;
  const longestMs = longestSegmentMs(state.config);
  // The jitter was drawn below segment.ms: where max.compaction.lag.ms is less, or was lowered since,
  // it must not use all of it up, or every record would get a segment of its own.
  return waitedMs > longestMs - (active.rollJitterMs % longestMs);
}

/**
 * Makes a new active segment that starts at `expectedNextOffset`, or at the log's end if that is
 * higher. The producer snapshot at its base is what lets recovery start here.
 */
export function roll(state: LogState, expectedNextOffset: bigint): Segment {
  const { environment, segments, producers } = state;
  const previous = segments.active;
  const baseOffset =
    expectedNextOffset > state.logEndOffset ? expectedNextOffset : state.logEndOffset;
  if (previous.baseOffset === baseOffset && previous.sizeBytes === 0) {
    // Nothing to close: it is empty, but its index may be full of what a cleaner left.
    previous.resetIndexes();
    return previous;
  }
  previous.becomeInactive();
  previous.persistIndexes();
  producers.mapEndOffset = baseOffset;
  producers.takeSnapshot();
  const segment = Segment.create(
    environment.disk,
    state.directory,
    baseOffset,
    environment.clock.now(),
    segmentJitter(state),
  );
  segments.add(segment);
  state.directoryNeedsSync = true;
  environment.cache.touch(previous);
  environment.logger.debug(
    { topic: state.topic, partition: state.partition, baseOffset: String(baseOffset) },
    'a new segment',
  );
  return segment;
}

/** What a new segment rolls earlier, so that not all segments of a broker roll at once. */
export function segmentJitter(state: Pick<LogState, 'config' | 'environment'>): number {
  const { segmentJitterMs } = state.config;
  if (segmentJitterMs === 0) return 0;
  return Math.floor(
    state.environment.random.next() * Math.min(segmentJitterMs, state.config.segmentMs),
  );
}
