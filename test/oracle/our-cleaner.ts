import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  cleanableRange,
  cleanOnce,
  FakeClock,
  LogDir,
  parseLogConfig,
  type Log,
  type LogConfig,
} from '@millrace/compaction';
import { cleaningTools, newOffsetMap } from '../support/cleaning-tools.ts';
import { logStateOf } from '../support/log-state.ts';
import { dumpSegments } from './dump-segments.ts';
import type { CleaningAnswer, CleaningRequest } from './requests.ts';

const DAY_MS = 86_400_000;
const MIB = 1_048_576;
const SMALLEST_PUBLIC_SEGMENT_BYTES = MIB;
const PARTITION = 't-0';

/** Our cleaner behind the oracle's words. `root` holds a partition directory `t-0` and nothing else. */
export async function askOurCleaner(
  root: string,
  request: CleaningRequest,
): Promise<CleaningAnswer> {
  prepare(root, request);
  const dir = await LogDir.open(root, {
    clock: new FakeClock(request.nowMs),
    configOf: () => configOf(request),
    producerExpirationMs: request.producerIdExpirationMs ?? DAY_MS,
  });
  let answer: CleaningAnswer;
  try {
    const log = dir.log('t', 0) as Log;
    if (request.highWatermark !== undefined) {
      log.highWatermarkFollowsEnd = false;
      log.updateHighWatermark(BigInt(request.highWatermark));
    }
    answer = request.cmd === 'clean' ? await clean(log, request) : cleanable(log, request);
  } finally {
    await dir.close();
  }
  if (request.cmd === 'cleanable') return answer;
  // What waits to be unlinked is gone for the oracle.
  for (const name of readdirSync(join(root, PARTITION))) {
    if (name.endsWith('.deleted')) rmSync(join(root, PARTITION, name));
  }
  return { ...answer, survivors: dumpSegments(join(root, PARTITION)) };
}

/** What the checkpoint files of the log directory would say, and that the last shutdown was clean. */
function prepare(root: string, request: CleaningRequest): void {
  for (const name of readdirSync(root)) if (name !== PARTITION) rmSync(join(root, name));
  writeFileSync(join(root, '.kafka_cleanshutdown'), '{"version":0,"brokerEpoch":-1}');
  const start = request.logStartOffset ?? 0;
  if (start > 0) writeFileSync(join(root, 'log-start-offset-checkpoint'), `0\n1\nt 0 ${start}\n`);
}

function configOf(request: CleaningRequest): LogConfig {
  const entries = Object.entries(request.config ?? {}).map(([name, value]) => {
    const isSmall = name === 'segment.bytes' && Number(value) < SMALLEST_PUBLIC_SEGMENT_BYTES;
    return [isSmall ? 'internal.segment.bytes' : name, String(value)] as const;
  });
  return parseLogConfig(new Map(entries));
}

async function clean(log: Log, request: CleaningRequest): Promise<CleaningAnswer> {
  const firstDirty = BigInt(request.firstDirtyOffset ?? log.logStartOffset);
  const range = cleanableRange(log, firstDirty, request.nowMs);
  const firstUncleanable =
    request.uncleanableOffset === undefined
      ? range.firstUncleanableOffset
      : segmentBaseOf(log, BigInt(request.uncleanableOffset));
  const map = newOffsetMap(request.dedupeBufferBytes ?? MIB, request.loadFactor);
  const { nextFirstDirtyOffset, stats } = await cleanOnce(
    log,
    { firstDirtyOffset: firstDirty, firstUncleanableOffset: firstUncleanable },
    cleaningTools(map, request.ioBufferBytes),
    request.nowMs,
  );
  return {
    firstDirtyOffset: Number(firstDirty),
    firstUncleanableOffset: Number(firstUncleanable),
    nextFirstDirtyOffset: Number(nextFirstDirtyOffset),
    stats: {
      mapMessagesRead: stats.mapRecordsRead,
      messagesRead: stats.recordsRead,
      messagesWritten: stats.recordsWritten,
      invalidMessagesRead: stats.invalidRecordsRead,
      bytesRead: stats.bytesRead,
      bytesWritten: stats.bytesWritten,
      mapUtilization: stats.mapUtilization,
    },
    state: logStateOf(log),
  };
}

/** Kafka rounds what it is told down to a segment's base, as its manager would. */
function segmentBaseOf(log: Log, offset: bigint): bigint {
  const segment = log.segments.findLast((one) => one.baseOffset <= offset);
  return segment?.baseOffset ?? log.logStartOffset;
}

function cleanable(log: Log, request: CleaningRequest): CleaningAnswer {
  const checkpoint = request.checkpoint === undefined ? undefined : BigInt(request.checkpoint);
  const range = cleanableRange(log, checkpoint, request.nowMs);
  const totalBytes = range.cleanBytes + range.compactableBytes;
  const after = range.isCheckpointInvalid ? range.firstDirtyOffset : checkpoint;
  return {
    firstDirtyOffset: Number(range.firstDirtyOffset),
    firstUncleanableOffset: Number(range.firstUncleanableOffset),
    cleanBytes: range.cleanBytes,
    cleanableBytes: range.compactableBytes,
    totalBytes,
    dirtyRatio: totalBytes === 0 ? null : range.dirtyRatio,
    maxCompactionDelayMs: range.maxLagExceededMs,
    needCompactionNow: range.maxLagExceededMs > 0,
    selected: range.isEligible,
    checkpointAfter: after === undefined ? null : Number(after),
    state: logStateOf(log),
  };
}
