import type { Clock } from '../../platform/clock.ts';
import type { Disk } from '../../platform/disk.ts';
import type { CleaningControl, CleaningStats, CleaningTask } from '../cleaning-task.ts';
import type { DecodedBatches } from './decoded-batches.ts';
import type { OffsetMap } from '../map/offset-map.ts';
import type { RecordScanner } from './record-scanner.ts';

/** What a pass works with; a cleaner thread has one set and uses it for one log after another. */
export interface CleaningTools {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly map: OffsetMap;
  /** Of the read buffer and of the write buffer each; they grow for a larger batch. */
  readonly ioBufferBytes: number;
  readonly control: CleaningControl;
}

/** One pass over one log. */
export interface CleaningPass extends CleaningTools {
  readonly task: CleaningTask;
  readonly scanner: RecordScanner;
  readonly decoded: DecodedBatches;
  readonly stats: CleaningStats;
}
