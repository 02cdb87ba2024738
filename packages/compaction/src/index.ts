export { cleanableRange, regionsOf } from './cleaner/cleanable-range.ts';
export type {
  CleanableRange,
  HoldReason,
  LogToLookAt,
  Region,
  RegionKind,
  SegmentToLookAt,
} from './cleaner/cleanable-range.ts';
export { cleanLog } from './cleaner/pass/clean-log.ts';
export { cleanOnce } from './cleaner/clean-once.ts';
export { cleaningTaskOf } from './cleaner/cleaning-task-of.ts';
export type {
  CleanedGroup,
  CleaningControl,
  CleaningReport,
  CleaningSettings,
  CleaningStats,
  CleaningTask,
  LastOfProducer,
  SourceSegment,
} from './cleaner/cleaning-task.ts';
export { describeCleaning } from './cleaner/describe-cleaning.ts';
export type {
  CleaningDescription,
  CleaningHold,
  CleaningReason,
  LogToDescribe,
} from './cleaner/describe-cleaning.ts';
export { openForCleaning, openForLooking } from './cleaner/open-for-cleaning.ts';
export type { LookedAtLogDir, OfflineOptions } from './cleaner/open-for-cleaning.ts';
export { rehearseCleaning } from './cleaner/rehearse-cleaning.ts';
export type { RehearsedCleaning } from './cleaner/rehearse-cleaning.ts';
export type { RecordCounts } from './cleaner/count-records.ts';
export type { Uncleanable } from './cleaner/manager/cleaner-manager.ts';
export type { CleanerSettings } from './cleaner/manager/cleaner-settings.ts';
export type {
  CleanedPartition,
  CleanerMetric,
  CleanerStatus,
} from './cleaner/manager/cleaner-status.ts';
export type { CleaningState } from './cleaner/manager/cleaning-states.ts';
export { LogCleaner } from './cleaner/manager/log-cleaner.ts';
export type { LogCleanerOptions } from './cleaner/manager/log-cleaner.ts';
export type {
  CleanerThread,
  CleanerThreadSettings,
  NewCleanerThread,
  SwapGroup,
} from './cleaner/threads/cleaner-thread.ts';
export { InlineThread } from './cleaner/threads/inline-thread.ts';
export type { InlineThreadOptions } from './cleaner/threads/inline-thread.ts';
export { WorkerThread } from './cleaner/threads/worker-thread.ts';
export { OffsetMap } from './cleaner/map/offset-map.ts';
export type { CleaningTools } from './cleaner/pass/pass.ts';
export { checkSetting, defaultLogConfig, parseLogConfig, resolveSetting } from './config.ts';
export type { LogConfig, ResolvedSetting } from './config.ts';
export { logConfigDefinitions, LONG_MAX, LONG_MAX_TEXT } from './config-definitions.ts';
export type { BrokerSynonym, LogConfigDefinition, LogConfigKind } from './config-definitions.ts';
export * from './errors.ts';
export { checkTopicName, parseLogDirectoryName } from './log-dir/directory-names.ts';
export type { TopicPartitionName } from './log-dir/directory-names.ts';
export { readLogFile } from './log-dir/read-log-file.ts';
export type { LogFileContent, LogFileKind } from './log-dir/read-log-file.ts';
export { LogDir } from './log-dir/log-dir.ts';
export type { LogDirOptions, RetentionFailure, RetentionSummary } from './log-dir/log-dir.ts';
export { Log } from './log/log.ts';
export type { AppendResult, LeaderAppendOptions } from './log/append.ts';
export type { AppendOrigin } from './log/append-origin.ts';
export type { LeaderEpochEntry } from './log/leader-epochs.ts';
export type { ProducerEntry, RememberedBatch } from './log/producer-entry.ts';
export type { Isolation, ReadOptions, ReadResult } from './log/read.ts';
export type { RetentionResult } from './log/retention.ts';
export type { SegmentReplacement } from './log/replace-segments.ts';
export type { FoundOffset } from './log/time-lookup.ts';
export type { AbortedTransaction } from './segment/txn-index.ts';
export type { Segment } from './segment/segment.ts';
export { parseSegmentFileName } from './segment/segment-files.ts';
export type { SegmentFileName } from './segment/segment-files.ts';
export { IndexInspector } from './segment/index-inspector.ts';
export type { IndexDamage } from './segment/index-inspector.ts';
export { SegmentInspector } from './segment/segment-inspector.ts';
export type {
  InspectedBatch,
  RecordVisitor,
  SegmentDamage,
  SegmentDamageKind,
} from './segment/segment-inspector.ts';
export { systemClock } from './platform/clock.ts';
export type { Clock, Timer } from './platform/clock.ts';
export { FakeClock } from './platform/fake-clock.ts';
export { readingDirectoryLocker, systemDirectoryLocker } from './platform/directory-lock.ts';
export type { DirectoryLock, DirectoryLocker } from './platform/directory-lock.ts';
export { KilledError, MemoryDisk } from './platform/memory-disk.ts';
export type { Fault, Operation, OperationKind } from './platform/memory-disk.ts';
export { nodeDisk } from './platform/node-disk.ts';
export type { DirectoryEntry, Disk, DiskFile, FileStat, OpenMode } from './platform/disk.ts';
export { OverlayDisk } from './platform/overlay-disk.ts';
export type { LostBytes } from './platform/overlay-disk.ts';
export { silentLogger } from './platform/logger.ts';
export type { Logger } from './platform/logger.ts';
export { systemRandom } from './platform/random.ts';
export type { Random } from './platform/random.ts';
