import type { Logger } from 'pino';
import type { Duration } from '../duration.ts';
import type { StateStore, StoreBuilder } from '../state/store.ts';
import type { Awaitable, Outcome } from './outcome.ts';
import type { Cancellable, PunctuationType, Punctuator, ScheduleOptions } from './punctuation.ts';
import type { FixedKeyRecord, RecordParts, StreamRecord } from './stream-record.ts';

/** Where the record in hand comes from. Within a punctuation it has no topic, and -1 for the rest. */
export interface RecordMetadata {
  readonly topic: string | null;
  readonly partition: number;
  readonly offset: bigint;
}

/** What a processor may ask of its task; one per processor and task. */
export interface ProcessingContext {
  readonly applicationId: string;
  /** `<subtopology>_<partition>`. */
  readonly taskId: string;
  readonly logger: Logger;
  /** The application's configuration, by Kafka's names. */
  readonly appConfigs: Readonly<Record<string, unknown>>;
  /** null while the processor is initialised. */
  readonly recordMetadata: RecordMetadata | null;
  /** Highest timestamp that the task has processed, epoch ms; -1 before the first record. */
  currentStreamTimeMs(): number;
  /** Wall-clock time, epoch ms; looked at once per pass of the thread's loop. */
  currentSystemTimeMs(): number;
  /** A store that this processor is connected to, by its name or its builder; any other is an error. */
  getStateStore<S extends StateStore>(store: string | StoreBuilder<S>): S;
  /**
   * Calls `punctuator` every `interval` (at least 1 ms). Stream time: after the first record, and
   * whenever a record has moved stream time past the next tick. Wall-clock time: whether or not there
   * are records. Ticks that were missed become one call, and the grid is kept. A promise holds the
   * task up, as a record's does.
   */
  schedule(
    interval: Duration,
    type: PunctuationType,
    punctuator: Punctuator,
    options?: ScheduleOptions,
  ): Cancellable;
  /** Asks for a commit soon; it does not happen within the call. */
  commit(): void;
}

/**
 * `forward` calls the nodes below, or the one named. It returns a promise if something below is
 * asynchronous: wait for it before you use what may depend on it, and before your own promise
 * resolves. Records reach the nodes below in the order of the calls in any case, and the task goes
 * on only when all of them are through. What fails below fails the record, whoever caught it.
 */
export interface ProcessorContext<K, V> extends ProcessingContext {
  forward(record: RecordParts<K, V>, childName?: string): Outcome;
}

/** See `ProcessorContext`. */
export interface FixedKeyProcessorContext<K, V> extends ProcessingContext {
  forward(record: FixedKeyRecord<K, V>, childName?: string): Outcome;
}

/** User code on the record path (Kafka's `Processor`). One object per task; every method may be asynchronous. */
export interface Processor<K, V, KR = K, VR = V> {
  /** Once, after the stores are restored. */
  init?(context: ProcessorContext<KR, VR>): Awaitable<unknown>;
  process(record: StreamRecord<K, V>): Awaitable<unknown>;
  /** Once, when the task is given up; what it throws is logged. */
  close?(): Awaitable<unknown>;
}

/** The same for `processValues`, which keeps keys. */
export interface FixedKeyProcessor<K, V, VR = V> {
  init?(context: FixedKeyProcessorContext<K, VR>): Awaitable<unknown>;
  process(record: FixedKeyRecord<K, V>): Awaitable<unknown>;
  close?(): Awaitable<unknown>;
}

/** Makes one task's processor; must make a new one at every call. */
export interface Supplier<P> {
  get(): P;
  /** Stores that come with the processor, and are connected to it. */
  stores?(): readonly StoreBuilder[];
}

/** A function that makes a processor, or an object that brings its stores, too (ConnectedStoreProvider). */
export type ProcessorSupplier<K, V, KR = K, VR = V> =
  (() => Processor<K, V, KR, VR>) | Supplier<Processor<K, V, KR, VR>>;

export type FixedKeyProcessorSupplier<K, V, VR = V> =
  (() => FixedKeyProcessor<K, V, VR>) | Supplier<FixedKeyProcessor<K, V, VR>>;
