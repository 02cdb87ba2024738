import { BatchIterator } from '@millrace/protocol';
import type { Log } from '../log/log.ts';
import type { Disk, DiskFile } from '../platform/disk.ts';
import { CLEANED_SUFFIX } from '../segment/segment-files.ts';
import { cleanLog } from './pass/clean-log.ts';
import type { CleanableRange } from './cleanable-range.ts';
import { cleaningTaskOf } from './cleaning-task-of.ts';
import type { CleaningReport, CleaningTask } from './cleaning-task.ts';
import { addBatch, differenceOf, noRecords } from './count-records.ts';
import type { RecordCounts } from './count-records.ts';
import type { CleaningTools } from './pass/pass.ts';
import { RecordScanner } from './pass/record-scanner.ts';
import { SourceReader } from './pass/source-reader.ts';

/** What a pass would make of a log. */
export interface RehearsedCleaning {
  /** Of the segments that the pass reads, as they are. */
  readonly before: RecordCounts;
  readonly after: RecordCounts;
  /** The difference. Batches may be left without records, so that their bytes shrink only. */
  readonly removed: RecordCounts;
  readonly report: CleaningReport;
}

/**
 * A whole pass whose output is counted instead of written, so that it needs no room and changes
 * nothing: neither files nor the log. `nowMs` may be any time (epoch ms), a later one as well: lags
 * and delete horizons are judged by it.
 *
 * @throws what `cleanLog` throws.
 */
export function rehearseCleaning(
  log: Log,
  range: Pick<CleanableRange, 'firstDirtyOffset' | 'firstUncleanableOffset'>,
  tools: CleaningTools,
  nowMs: number,
): RehearsedCleaning {
  const task = cleaningTaskOf(log, range, nowMs);
  const output = new CountedOutput(tools.disk, task);
  const pass = cleanLog(task, { ...tools, disk: output.disk });
  const before = noRecords();
  for (;;) {
    const step = pass.next();
    if (step.done) {
      const { after } = output;
      return { before, after, removed: differenceOf(before, after), report: step.value };
    }
    for (const baseOffset of step.value.sources) countSource(task, baseOffset, tools, before);
  }
}

function countSource(
  task: CleaningTask,
  baseOffset: bigint,
  tools: CleaningTools,
  counts: RecordCounts,
): void {
  const segment = task.segments.find((one) => one.baseOffset === baseOffset);
  if (segment === undefined) return;
  const { disk, ioBufferBytes, control } = tools;
  const scanner = new RecordScanner(task.settings.maxDecompressedMessageBytes);
  const reader = new SourceReader(disk, task.directory, segment, 0, ioBufferBytes, control);
  try {
    for (let batch = reader.next(); batch; batch = reader.next()) addBatch(counts, batch, scanner);
  } catch (error) {
    throw reader.toError(error);
  } finally {
    reader.close();
  }
}

/** A disk on which `.cleaned` files come to nothing; the batches that were to be in them are counted. */
class CountedOutput {
  readonly after = noRecords();
  readonly disk: Disk;
  readonly #scanner: RecordScanner;

  constructor(below: Disk, task: CleaningTask) {
    this.#scanner = new RecordScanner(task.settings.maxDecompressedMessageBytes);
    const isOutput = (path: string): boolean => path.endsWith(CLEANED_SUFFIX);
    this.disk = {
      ...readsOf(below),
      open: (path) => (isOutput(path) ? this.#file(path) : below.open(path, 'read')),
      stat: (path) => (isOutput(path) ? null : below.stat(path)),
    };
  }

  #file(path: string): DiskFile {
    const isLog = path.endsWith(`.log${CLEANED_SUFFIX}`);
    return {
      path,
      sizeBytes: () => 0,
      read: () => 0,
      write: (source) => {
        if (isLog) this.#count(source);
      },
      truncate: () => undefined,
      sync: () => Promise.resolve(),
      close: () => undefined,
    };
  }

  /** A segment is written in whole batches. */
  #count(source: Buffer): void {
    const batches = new BatchIterator(source);
    for (let batch = batches.next(); batch; batch = batches.next()) {
      addBatch(this.after, batch, this.#scanner);
    }
  }
}

/** Whatever is asked for beyond reading does nothing. */
function readsOf(below: Disk): Disk {
  const nothing = (): void => undefined;
  const done = (): Promise<void> => Promise.resolve();
  return {
    open: (path) => below.open(path, 'read'),
    stat: (path) => below.stat(path),
    list: (directory) => below.list(directory),
    readFile: (path) => below.readFile(path),
    writeFile: nothing,
    makeDirectory: nothing,
    rename: nothing,
    unlink: nothing,
    setModified: nothing,
    removeTree: done,
    syncDirectory: done,
  };
}
