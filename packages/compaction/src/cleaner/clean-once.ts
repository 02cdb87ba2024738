import type { Log } from '../log/log.ts';
import { cleanLog } from './pass/clean-log.ts';
import type { CleanableRange } from './cleanable-range.ts';
import { cleaningTaskOf } from './cleaning-task-of.ts';
import type { CleaningReport } from './cleaning-task.ts';
import type { CleaningTools } from './pass/pass.ts';

/**
 * A whole pass in this thread: cleans group by group and swaps each one in. The caller writes the
 * checkpoint. `nowMs` is the time that lags and horizons are judged by, epoch ms.
 *
 * @throws what `cleanLog` and `Log.replaceSegments` throw.
 */
export async function cleanOnce(
  log: Log,
  range: Pick<CleanableRange, 'firstDirtyOffset' | 'firstUncleanableOffset'>,
  tools: CleaningTools,
  nowMs: number,
): Promise<CleaningReport> {
  const pass = cleanLog(cleaningTaskOf(log, range, nowMs), tools);
  for (;;) {
    const step = pass.next();
    if (step.done) return step.value;
    await log.replaceSegments(step.value);
  }
}
