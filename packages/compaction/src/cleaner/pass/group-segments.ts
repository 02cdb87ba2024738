import { MAX_RELATIVE_OFFSET } from '../../limits.ts';
import type { CleaningTask, SourceSegment } from '../cleaning-task.ts';

/**
 * Puts neighbouring segments together as long as what replaces them surely fits into one: by
 * bytes, by index bytes, and by offsets, whose last is told by where the next segment begins. An
 * empty segment always fits (KAFKA-12889). What there are too many of waits for the next pass.
 */
export function groupSegments(
  segments: readonly SourceSegment[],
  task: Pick<CleaningTask, 'settings' | 'firstUncleanableOffset'>,
): SourceSegment[][] {
  const { segmentBytes, segmentIndexBytes, maxGroupSegments } = task.settings;
  const groups: SourceSegment[][] = [];
  let group: SourceSegment[] = [];
  let bytes = 0;
  let offsetIndexBytes = 0;
  let timeIndexBytes = 0;
  for (const [index, segment] of segments.entries()) {
    const end = segments[index + 1]?.baseOffset ?? task.firstUncleanableOffset;
    const first = group[0];
    const fits =
      first !== undefined &&
      group.length < maxGroupSegments &&
      bytes + segment.sizeBytes <= segmentBytes &&
      offsetIndexBytes + segment.offsetIndexBytes <= segmentIndexBytes &&
      timeIndexBytes + segment.timeIndexBytes <= segmentIndexBytes &&
      (segment.sizeBytes === 0 || end - 1n - first.baseOffset <= MAX_RELATIVE_OFFSET);
    if (!fits) {
      group = [];
      groups.push(group);
      bytes = 0;
      offsetIndexBytes = 0;
      timeIndexBytes = 0;
    }
    group.push(segment);
    bytes += segment.sizeBytes;
    offsetIndexBytes += segment.offsetIndexBytes;
    timeIndexBytes += segment.timeIndexBytes;
  }
  return groups;
}
