/** Where the offsets of a group are set to. */
export type ResetTarget =
  | { readonly kind: 'earliest' | 'latest' }
  | { readonly kind: 'offset'; readonly offset: bigint }
  /** By so many from the committed offset, back if negative. */
  | { readonly kind: 'shift'; readonly by: bigint }
  /** To the first record with this timestamp or a later one, else to the end. */
  | { readonly kind: 'time'; readonly timestampMs: number };

export interface PartitionState {
  readonly committedOffset: bigint | null;
  readonly logStartOffset: bigint;
  readonly endOffset: bigint;
  /** For a time: the first offset there; null: no record is so late. */
  readonly offsetAtTime: bigint | null;
}

/**
 * The new offset, moved into what the log has, as Kafka's own tool does; null where there is nothing
 * to shift from.
 */
export function resetOffset(target: ResetTarget, state: PartitionState): bigint | null {
  const { committedOffset, logStartOffset, endOffset, offsetAtTime } = state;
  switch (target.kind) {
    case 'earliest':
      return logStartOffset;
    case 'latest':
      return endOffset;
    case 'offset':
      return within(target.offset, logStartOffset, endOffset);
    case 'shift':
      if (committedOffset === null) return null;
      return within(committedOffset + target.by, logStartOffset, endOffset);
    case 'time':
      return within(offsetAtTime ?? endOffset, logStartOffset, endOffset);
  }
}

function within(offset: bigint, start: bigint, end: bigint): bigint {
  if (offset < start) return start;
  return offset > end ? end : offset;
}
