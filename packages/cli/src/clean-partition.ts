import {
  cleanOnce,
  describeCleaning,
  LogStoreError,
  nodeDisk,
  OffsetMap,
  rehearseCleaning,
  systemClock,
  systemRandom,
  type CleaningControl,
  type CleaningDescription,
  type CleaningTools,
  type Disk,
  type Log,
  type LogDir,
  type LookedAtLogDir,
  type RehearsedCleaning,
} from '@millrace/compaction';
import type { CleanSettings } from './clean-settings.ts';

/** What became of a log, or would. */
export interface CleanedPartition {
  /** As the log was found; null: it could not be looked at. */
  readonly description: CleaningDescription | null;
  /** What a pass would do; null: none would be made, or it was made. */
  readonly rehearsed: RehearsedCleaning | null;
  /** null: nothing was cleaned. */
  readonly cleaned: CleanedSizes | null;
  readonly error: Error | null;
}

export interface CleanedSizes {
  readonly passes: number;
  readonly sizeBytesBefore: number;
  readonly sizeBytesAfter: number;
  /** Where the next pass begins. */
  readonly firstDirtyOffset: bigint;
}

/** What all passes of a call share: the offset map is large. */
export class PassTools {
  readonly #settings: CleanSettings;
  readonly #controlOf: (log: Log) => CleaningControl;
  readonly #map: OffsetMap;

  /** `controlOf` is told of all that is read and written. @throws ConfigError: the map holds no key. */
  constructor(settings: CleanSettings, controlOf: (log: Log) => CleaningControl) {
    this.#settings = settings;
    this.#controlOf = controlOf;
    const { mapBytes, mapLoadFactor } = settings;
    this.#map = new OffsetMap(mapBytes, mapLoadFactor, systemRandom);
  }

  for(log: Log, disk: Disk): CleaningTools {
    const { ioBufferBytes } = this.#settings;
    const control = this.#controlOf(log);
    return { disk, map: this.#map, clock: systemClock, ioBufferBytes, control };
  }
}

/** `at`: epoch ms; undefined: now. */
export function rehearsePartition(
  log: Log,
  { dir, disk }: LookedAtLogDir,
  tools: PassTools,
  at = systemClock.now(),
): CleanedPartition {
  let description: CleaningDescription | null = null;
  let rehearsed: RehearsedCleaning | null = null;
  let error: Error | null = null;
  try {
    description = describeCleaning(log, dir.cleanerOffsets.get(log.name), at);
    if (description.isEligible) {
      rehearsed = rehearseCleaning(log, description.range, tools.for(log, disk), at);
    }
  } catch (failure) {
    if (!(failure instanceof LogStoreError)) throw failure;
    error = failure;
  }
  return { description, rehearsed, cleaned: null, error };
}

/** As many passes as there is something to clean: one more whenever the offset map was full. */
export async function cleanPartition(
  log: Log,
  dir: LogDir,
  tools: PassTools,
): Promise<CleanedPartition> {
  let found: CleaningDescription | null = null;
  let cleaned: CleanedSizes | null = null;
  let error: Error | null = null;
  const sizeBytesBefore = log.sizeInBytes;
  try {
    for (let passes = 1; ; passes++) {
      const nowMs = systemClock.now();
      const description = describeCleaning(log, dir.cleanerOffsets.get(log.name), nowMs);
      found ??= description;
      const { range } = description;
      if (range.isCheckpointInvalid) await dir.updateCleanerOffset(log, range.firstDirtyOffset);
      if (!description.isEligible) break;
      const report = await cleanOnce(log, range, tools.for(log, nodeDisk), nowMs);
      const { nextFirstDirtyOffset: firstDirtyOffset } = report;
      await dir.updateCleanerOffset(log, firstDirtyOffset);
      cleaned = { passes, sizeBytesBefore, sizeBytesAfter: log.sizeInBytes, firstDirtyOffset };
      if (firstDirtyOffset <= range.firstDirtyOffset) break;
    }
  } catch (failure) {
    if (!(failure instanceof LogStoreError)) throw failure;
    error = failure;
  }
  return { description: found, rehearsed: null, cleaned, error };
}
