import { cleanableRange } from '../cleaner/cleanable-range.ts';
import { cleanOnce } from '../cleaner/clean-once.ts';
import type { CleaningReport } from '../cleaner/cleaning-task.ts';
import { OffsetMap } from '../cleaner/map/offset-map.ts';
import type { CleaningTools } from '../cleaner/pass/pass.ts';
import type { Log } from '../log/log.ts';
import type { Clock } from '../platform/clock.ts';
import type { Disk } from '../platform/disk.ts';
import { seededRandom } from './seeded-random.ts';

/** Tools of a cleaner that nobody holds back; its map has room for `slots` keys. */
export function toolsOf(disk: Disk, clock: Clock, slots = 1_000): CleaningTools {
  return {
    disk,
    clock,
    map: new OffsetMap(slots * 24, 1, seededRandom(3)),
    ioBufferBytes: 4_096,
    control: { ensureWanted: () => undefined, throttle: () => undefined },
  };
}

/** One pass, as a cleaner would do it; null: there is nothing to clean. */
export async function cleanNow(
  log: Log,
  tools: CleaningTools,
  checkpoint: bigint | undefined,
): Promise<CleaningReport | null> {
  const nowMs = tools.clock.now();
  const range = cleanableRange(log, checkpoint, nowMs);
  if (range.compactableBytes === 0) return null;
  return cleanOnce(log, range, tools, nowMs);
}
