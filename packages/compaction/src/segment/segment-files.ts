import path from 'node:path';

/** The files of one segment, by what they hold. */
export const SEGMENT_SUFFIXES = ['.log', '.index', '.timeindex', '.txnindex'] as const;
type SegmentSuffix = (typeof SEGMENT_SUFFIXES)[number];

export const SNAPSHOT_SUFFIX = '.snapshot';
export const DELETED_SUFFIX = '.deleted';
/** Written, but not in place of what it is made from. */
export const CLEANED_SUFFIX = '.cleaned';
/** All that replaces something is written; whatever it replaces may go. */
export const SWAP_SUFFIX = '.swap';

/** None for a file in use. */
export type SegmentState = '' | typeof DELETED_SUFFIX | typeof CLEANED_SUFFIX | typeof SWAP_SUFFIX;

const OFFSET_DIGITS = 20;
const MAX_OFFSET = 9_223_372_036_854_775_807n;

/** `00000000000000000042.log`: Kafka pads so that names sort as offsets do. */
function segmentFileName(baseOffset: bigint, suffix: string): string {
  return baseOffset.toString().padStart(OFFSET_DIGITS, '0') + suffix;
}

export function segmentFilePath(directory: string, baseOffset: bigint, suffix: string): string {
  return path.join(directory, segmentFileName(baseOffset, suffix));
}

export interface SegmentFileName {
  readonly baseOffset: bigint;
  /** `.log` ...; also `.snapshot`. */
  readonly kind: SegmentSuffix | typeof SNAPSHOT_SUFFIX;
  readonly state: SegmentState;
}

const PATTERN =
  /^(\d{20})(\.log|\.index|\.timeindex|\.txnindex|\.snapshot)(\.deleted|\.cleaned|\.swap)?$/;

/** null: not a file of a segment. */
export function parseSegmentFileName(name: string): SegmentFileName | null {
  const match = PATTERN.exec(name);
  if (!match) return null;
  const baseOffset = BigInt(match[1] ?? '');
  if (baseOffset > MAX_OFFSET) return null;
  return {
    baseOffset,
    kind: match[2] as SegmentFileName['kind'],
    state: (match[3] ?? '') as SegmentFileName['state'],
  };
}
