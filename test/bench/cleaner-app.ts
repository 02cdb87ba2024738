/**
 * `node cleaner-app.js ROOT SEGMENT_BYTES`: cleans the log there and prints one JSON line: the process's resident
 * memory before, with everything loaded and nothing open, and the most that it has ever had.
 */
import { cleanLogIn, newMap } from './cleaner-log.ts';

export interface CleanerMemory {
  readonly idleKib: number;
  readonly peakKib: number;
  readonly inputBytes: number;
  readonly elapsedMs: number;
  readonly records: number;
  readonly survivors: number;
  readonly mapUtilization: number;
}

const BYTES_PER_KIB = 1_024;
const [root, segmentBytes] = process.argv.slice(2) as [string, string];
const idleKib = Math.round(process.memoryUsage.rss() / BYTES_PER_KIB);
const { inputBytes, elapsedMs, report } = await cleanLogIn(root, Number(segmentBytes), newMap);
const { recordsRead, recordsWritten, mapUtilization } = report.stats;
const result: CleanerMemory = {
  idleKib,
  peakKib: process.resourceUsage().maxRSS,
  inputBytes,
  elapsedMs,
  records: recordsRead,
  survivors: recordsWritten,
  mapUtilization,
};
console.log(JSON.stringify(result));
