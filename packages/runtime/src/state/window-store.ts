import type { Windowed } from '../serdes/windowed-key.ts';
import type { StateStore } from './store.ts';

export interface WindowEntry<K, V> {
  readonly key: Windowed<K>;
  readonly value: V;
  /** Epoch ms. */
  readonly timestamp: number;
}

/** What anyone may ask of a window store. Nothing expired is ever returned. */
export interface ReadOnlyWindowStore<K, V> {
  get(key: K, windowStart: number): V | null;
  /** The key's windows with `from <= start <= to`, oldest first. */
  fetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>>;
  backwardFetch(key: K, from: number, to: number): IterableIterator<WindowEntry<K, V>>;
  /** All keys' windows with `from <= start <= to`, by start, then by key bytes. */
  fetchAll(from: number, to: number): IterableIterator<WindowEntry<K, V>>;
  all(): IterableIterator<WindowEntry<K, V>>;
}

/**
 * A store of one timestamped value per key and window start (Kafka's TimestampedWindowStore).
 * A window expires once its start is at or below observed stream time - retention; observed stream
 * time is the highest window start that the store was given. Its changelog's keys are the key's
 * bytes, 8 bytes of window start and 4 bytes of sequence number (0).
 */
export interface WindowStore<K, V> extends StateStore, ReadOnlyWindowStore<K, V> {
  readonly windowSizeMs: number;
  /** Of the entry that the last `get` found, -1 if it found none: read it before anything else is called. */
  readonly foundTimestamp: number;
  /** A null value deletes. An expired window is not stored and counts as a dropped record. */
  put(key: K, value: V | null, windowStart: number, timestamp: number): void;
}
