export interface NodeDescription {
  readonly kind: 'source' | 'processor' | 'sink';
  readonly name: string;
  /** What a source reads, or the one topic that a sink writes; empty for a sink with an extractor. */
  readonly topics: readonly string[];
  /** What a source reads if it reads all topics that match; null otherwise. */
  readonly pattern: string | null;
  /** Name of the function that chooses a sink's topics; null where there is none. */
  readonly topicExtractor: string | null;
  readonly stores: readonly string[];
  readonly predecessors: readonly string[];
  readonly successors: readonly string[];
}

export interface SubtopologyDescription {
  readonly id: number;
  /** A global store's: every instance fills the store, and no task runs it. */
  readonly isGlobal: boolean;
  readonly nodes: readonly NodeDescription[];
}
