import type { ProcessorNode } from '../operators/processor-node.ts';
import type { SourceNode } from '../operators/source-node.ts';
import type { StateStore } from '../state/store.ts';

export type { ExtractedRecord, SourceNode, TimestampExtractor } from '../operators/source-node.ts';

/** An offset reset that begins so far back in time; `byDuration()` makes one. */
export interface ByDuration {
  readonly byDurationMs: number;
}

/** Where to begin without a committed offset, or with one that is out of range. */
export type OffsetReset = 'earliest' | 'latest' | 'none' | ByDuration;

export interface InternalTopic {
  readonly name: string;
  /** null: as many as the largest source of the subtopologies that write to it. */
  readonly partitionCount: number | null;
  readonly config: ReadonlyMap<string, string>;
}

export interface Changelog extends InternalTopic {
  readonly storeName: string;
  /** True when a source topic serves as changelog (it is then never created nor written). */
  readonly isSourceTopic: boolean;
}

/** One connected part of the topology; its tasks have one partition each of all its source topics. */
export interface Subtopology {
  readonly id: number;
  /** All topics it reads, repartition topics included, sorted. */
  readonly sourceTopics: readonly string[];
  readonly repartitionSourceTopics: readonly InternalTopic[];
  /** Names of the repartition topics that it writes. */
  readonly repartitionSinkTopics: readonly string[];
  readonly changelogs: readonly Changelog[];
  /** Topics that must have equal partition counts. */
  readonly copartitionGroups: readonly (readonly string[])[];
}

/** The nodes and stores of one task; made anew for each task. */
export interface TaskTopology {
  /** By topic. */
  readonly sources: ReadonlyMap<string, SourceNode>;
  /** Parents before children. */
  readonly nodes: readonly ProcessorNode[];
  readonly stores: ReadonlyMap<string, StateStore>;
}

/** The global stores of a topology, and the nodes that fill them. */
export interface GlobalTopology {
  /** By topic: the name of the store that is filled from it. */
  readonly storeOfTopic: ReadonlyMap<string, string>;
  /** Made once per instance of the application. */
  instantiate(): TaskTopology;
}

/** A topology bound to an application id: internal topics have their full names. */
export interface BuiltTopology {
  /** Those that tasks run; ids may have gaps. */
  readonly subtopologies: readonly Subtopology[];
  /** null: the topology has no global stores. */
  readonly global: GlobalTopology | null;
  /** Whether any task, or the instance, has a store on disk. */
  readonly isOnDisk: boolean;
  /** What sources by pattern ask for; empty if there are none. */
  readonly patterns: readonly RegExp[];
  /** The same topology with its sources by pattern reading what matches of these topics. */
  matching(topics: Iterable<string>): BuiltTopology;
  offsetReset(topic: string): OffsetReset | null;
  instantiate(subtopologyId: number, partition: number): TaskTopology;
}
