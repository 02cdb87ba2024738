import type {
  CleaningDescription,
  CleaningHold,
  Log,
  RecordCounts,
  Region,
} from '@millrace/compaction';
import type { CleanedPartition, CleanedSizes } from './clean-partition.ts';
import { toJsonLine } from './json-lines.ts';
import { counted, renderTable } from './table.ts';
import type { Terminal } from './terminal.ts';
import { formatTime } from './times.ts';

const RATIO_DIGITS = 3;

/** What `millrace clean` tells of each log, as it comes to it. */
export class CleanOutput {
  readonly #isJson: boolean;
  readonly #terminal: Terminal;
  #logs = 0;
  #eligible = 0;
  #cleaned = 0;

  constructor(isJson: boolean, terminal: Terminal) {
    this.#isJson = isJson;
    this.#terminal = terminal;
  }

  /** Nobody reads it any more. */
  get isClosed(): boolean {
    return this.#terminal.outputClosed.aborted;
  }

  partition(log: Log, result: CleanedPartition): void {
    this.#logs++;
    const { description, rehearsed, cleaned, error } = result;
    if (description?.isEligible === true) this.#eligible++;
    if (cleaned !== null && error === null) this.#cleaned++;
    if (this.#isJson) {
      this.#terminal.out(toJsonLine(partitionJson(log, result)));
      return;
    }
    const lines: string[] = [];
    if (description !== null) lines.push(...describe(log, description));
    if (rehearsed !== null) {
      const { removed, before, report } = rehearsed;
      lines.push(`  a pass would remove ${countsText(removed, before)}`);
      const { firstUncleanableOffset } = (description as CleaningDescription).range;
      if (report.nextFirstDirtyOffset < firstUncleanableOffset) {
        lines.push(
          `  and end at ${report.nextFirstDirtyOffset.toString()}, where the offset map is full; another one follows`,
        );
      }
    }
    if (cleaned !== null) lines.push(`  ${cleanedText(cleaned)}`);
    if (error !== null) lines.push(`  ${log.name}: ${error.message}`);
    this.#terminal.out(lines.join('\n'));
  }

  end(isDryRun: boolean): void {
    if (this.#isJson) return;
    const logs = counted(this.#logs, 'log');
    this.#terminal.out(
      isDryRun ? `${this.#eligible} of ${logs} eligible` : `${this.#cleaned} of ${logs} cleaned`,
    );
    if (isDryRun) this.#terminal.err('Nothing was changed: leave out --dry-run and --at to clean.');
  }
}

function describe(log: Log, description: CleaningDescription): string[] {
  const { isEligible, regions, hold, range } = description;
  const lines = [
    `${log.name}: ${isEligible ? 'eligible' : 'not eligible'}, ${reasonText(log, description)}`,
  ];
  if (!log.config.cleanupPolicy.compact) return lines;
  if (range.isCheckpointInvalid) {
    lines.push('  the cleaner checkpoint lies outside of the log: all of it counts as dirty again');
  }
  if (regions.some(({ sizeBytes }) => sizeBytes > 0)) {
    const rows = regions.map((region) => [
      regionName(region, hold),
      `${region.startOffset.toString()}-${region.endOffset.toString()}`,
      region.sizeBytes,
    ]);
    const table = renderTable(['REGION', 'OFFSETS', 'BYTES'], rows);
    lines.push(...table.split('\n').map((line) => `  ${line}`));
  }
  if (hold !== null) lines.push(`  ${holdText(hold)}`);
  return lines;
}

/** What no lag holds back waits for a transaction or the high watermark. */
function regionName({ kind }: Region, hold: CleaningHold | null): string {
  if (kind !== 'protected') return kind;
  return hold?.by === 'last-stable-offset' ? 'undecided' : 'lag-protected';
}

function reasonText(
  { config }: Log,
  { reason, range, minDirtyRatio }: CleaningDescription,
): string {
  const ratio = range.dirtyRatio.toFixed(RATIO_DIGITS);
  const limit = `min.cleanable.dirty.ratio=${minDirtyRatio}`;
  switch (reason) {
    case 'dirty-ratio':
      return `dirty ratio ${ratio} reaches ${limit}`;
    case 'max-compaction-lag':
      return (
        `a dirty record exceeds max.compaction.lag.ms=${config.maxCompactionLagMs} ` +
        `by ${range.maxLagExceededMs} ms; dirty ratio ${ratio}, ${limit}`
      );
    case 'ratio-below-limit':
      return `dirty ratio ${ratio} is below ${limit}`;
    case 'not-compacted':
      return `cleanup.policy=${config.cleanupPolicy.delete ? 'delete' : ''} has no compact`;
    case 'nothing-dirty':
      return 'nothing is dirty but the active segment';
    case 'held-back':
      return 'nothing of what is dirty may be cleaned yet';
  }
}

function holdText({ by, offset, limit, untilMs, missing, openTransaction }: CleaningHold): string {
  const from = `held back from offset ${offset.toString()} on by`;
  if (by === 'last-stable-offset') {
    return openTransaction === null
      ? `${from} the high watermark`
      : `${from} an open transaction: producer ${openTransaction.producerId.toString()} since ` +
          `offset ${openTransaction.firstOffset.toString()}`;
  }
  const key = `${by}=${limit ?? ''}`;
  if (untilMs !== null) return `${from} ${key} until ${formatTime(untilMs) ?? untilMs}`;
  const unit = by === 'min.compaction.lag.bytes' ? 'byte' : 'record';
  return `${from} ${key}, until ${counted(missing ?? 0, unit)} more have followed`;
}

function countsText(removed: RecordCounts, before: RecordCounts): string {
  return (
    `${removed.records} of ${counted(before.records, 'record')} ` +
    `(${removed.tombstones} of ${counted(before.tombstones, 'tombstone')}), ` +
    `${removed.markers} of ${counted(before.markers, 'marker')}, ` +
    `${removed.bytes} of ${counted(before.bytes, 'byte')}`
  );
}

function cleanedText({ passes, sizeBytesBefore, sizeBytesAfter }: CleanedSizes): string {
  const how = passes === 1 ? 'cleaned' : `cleaned in ${passes} passes`;
  return `${how}: ${counted(sizeBytesAfter, 'byte')} of ${sizeBytesBefore} are left`;
}

function partitionJson(log: Log, result: CleanedPartition): unknown {
  const { description, rehearsed, cleaned, error } = result;
  const { topic, partition, config } = log;
  const { compact, delete: isDeleted } = config.cleanupPolicy;
  const range = description?.range;
  return {
    topic,
    partition,
    cleanupPolicy: [...(compact ? ['compact'] : []), ...(isDeleted ? ['delete'] : [])],
    isEligible: description?.isEligible ?? false,
    reason: description?.reason ?? null,
    dirtyRatio: range?.dirtyRatio ?? null,
    minDirtyRatio: config.minCleanableDirtyRatio,
    logStartOffset: log.logStartOffset,
    logEndOffset: log.logEndOffset,
    firstDirtyOffset: range?.firstDirtyOffset ?? null,
    firstUncleanableOffset: range?.firstUncleanableOffset ?? null,
    isCheckpointInvalid: range?.isCheckpointInvalid ?? null,
    maxLagExceededMs: range?.maxLagExceededMs ?? null,
    regions: description?.regions ?? null,
    hold: description?.hold ?? null,
    wouldRemove: rehearsed?.removed ?? null,
    wouldEndAt: rehearsed?.report.nextFirstDirtyOffset ?? null,
    cleaned,
    error:
      error === null ? null : { code: (error as { code?: string }).code, message: error.message },
  };
}
