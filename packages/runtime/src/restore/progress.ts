/** How far one store's restoration is; what the listener, the Observable and the log lines are made of. */
export interface RestoreProgress {
  readonly kind: 'start' | 'batch' | 'end' | 'suspended';
  /** `<subtopology>_<partition>`; `-1_-1` for global stores, which belong to no task. */
  readonly taskId: string;
  readonly storeName: string;
  readonly topic: string;
  readonly partition: number;
  readonly startOffset: bigint;
  /** Next offset to restore. */
  readonly currentOffset: bigint;
  /** Taken when restoration began; it is done when `currentOffset` gets there. */
  readonly endOffset: bigint;
  /** Records that were applied; holes and markers are none, so this may be less than the distance of offsets. */
  readonly restoredRecords: number;
}

export type RestoreListener = (progress: RestoreProgress) => void;
