import type { Logger } from 'pino';
import type { RecordHeaders } from '@millrace/protocol';
import type { RecordCollector } from './record-collector.ts';
import type { StateStore } from '../state/store.ts';
import type { Outcome } from './outcome.ts';
import type { Cancellable, PunctuationType } from './punctuation.ts';

/** A task is one subtopology on one partition: `<subtopology>_<partition>`. */
export interface TaskId {
  readonly subtopology: number;
  readonly partition: number;
}

/** Which record something comes from; what buffers and caches keep until they let it go. */
export interface RecordOrigin {
  readonly topic: string | null;
  readonly partition: number;
  readonly offset: bigint;
  /** The source record's bytes, where they were kept for error handlers. */
  readonly rawKey?: Buffer | null;
  readonly rawValue?: Buffer | null;
}

/** What nodes and stores may ask of the task that they belong to. */
export interface TaskContext {
  readonly applicationId: string;
  readonly taskId: TaskId;
  readonly logger: Logger;
  readonly collector: RecordCollector;

  /** The record being processed; null, -1 and -1n while none is (init, wall-clock punctuation). */
  readonly topic: string | null;
  readonly partition: number;
  /** Made when asked for: inside the record path an offset is a batch's base and a delta. */
  offset(): bigint;

  /**
   * What `topic`, `partition` and `offset()` speak of instead of the record in hand; null: of that.
   * Who forwards a record that was kept sets this to its origin, and back once the nodes below are done.
   */
  origin: RecordOrigin | null;

  /** Highest timestamp that this task has processed, epoch ms; -1 before the first record. */
  currentStreamTimeMs(): number;
  /** Cached once per pass of the thread's loop. */
  currentSystemTimeMs(): number;
  /** A store of the task, or a global one, which can only be read. */
  store(name: string): StateStore;
  /** Whether the name is that of a global store: every node may use it without being connected. */
  hasGlobalStore?(name: string): boolean;
  requestCommit(): void;
  /** The application's configuration, by Kafka's names. */
  readonly appConfigs: Readonly<Record<string, unknown>>;
  /**
   * Calls `punctuate` whenever its time comes, with the time of the call. `startMs` null: where the
   * type's grid begins. What it throws is the node's error.
   */
  schedule(
    node: { readonly name: string },
    type: PunctuationType,
    startMs: number | null,
    intervalMs: number,
    punctuate: (timestamp: number) => Outcome,
  ): Cancellable;
  /** Counts a record that was skipped by rule, and logs it at warn once per node and reason, then at debug. */
  recordDropped(node: string, reason: string, headers?: RecordHeaders | null): void;
}
