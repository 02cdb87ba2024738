import {
  TASK_SLICE_FIRST_RECORDS,
  TASK_SLICE_MAX_RECORDS,
  TASK_SLICE_TARGET_MS,
} from '../limits.ts';

/**
 * How many records of one task are processed without a look at the clock. A look costs as much as a cheap
 * record; but of records that take 50 ms each, few are enough to keep heartbeats waiting. So it begins
 * with few, doubles while they are fast, and shrinks to what the time allows when they are slow.
 */
export class SliceLength {
  records = TASK_SLICE_FIRST_RECORDS;

  /** So many records took so long, in one slice. */
  took(count: number, ms: number): void {
    if (ms > TASK_SLICE_TARGET_MS) {
      this.records = Math.max(1, Math.floor((count * TASK_SLICE_TARGET_MS) / ms));
    } else if (count === this.records && 2 * ms < TASK_SLICE_TARGET_MS) {
      this.records = Math.min(TASK_SLICE_MAX_RECORDS, 2 * this.records);
    }
  }
}
