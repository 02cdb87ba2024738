import type { RecordSerde } from '../../serdes/serde.ts';
import { HistoryStore } from '../history-store.ts';
import { StoreMeasures } from '../measures.ts';
import { BigMap } from './big-map.ts';
import { Expiry } from './expiry.ts';
import type { MapKey } from './key-codec.ts';
import { KeyHistory } from './key-history.ts';

/**
 * A versioned store in memory: per key a short array of versions, and a list of what expires when. Lost
 * with the process, so it is always restored from the start of its changelog.
 */
export class InMemoryVersionedStore<K, V> extends HistoryStore<K, V> {
  readonly isPersistent = false;
  readonly measures = new StoreMeasures('in-memory-state');

  readonly #histories = new BigMap<MapKey, KeyHistory<K>>();
  readonly #expiry: Expiry<KeyHistory<K>>;

  constructor(
    name: string,
    keySerde: RecordSerde<K>,
    valueSerde: RecordSerde<V>,
    historyRetentionMs: number,
  ) {
    super(name, keySerde, valueSerde, historyRetentionMs);
    this.#expiry = new Expiry(historyRetentionMs, (history) => {
      this.#histories.delete(history.mapKey);
    });
  }

  committedOffset(): bigint | null {
    return null;
  }

  commit(_changelogOffset: bigint | null): void {}

  override close(): void {
    super.close();
    this.#histories.clear();
    this.#expiry.clear();
  }

  protected historyOf(key: K): KeyHistory<K> | undefined {
    return this.#histories.get(this.keys.mapKey(key));
  }

  protected change(key: K, stored: unknown, timestamp: number): number | null {
    this.#expiry.advanceTo(this.expiryLimit);
    const mapKey = this.keys.mapKey(key);
    let history = this.#histories.get(mapKey);
    if (history === undefined) {
      history = new KeyHistory(this.keys.own(key), mapKey);
      this.#histories.add(mapKey, history);
    }
    const validTo = history.put(timestamp, stored);
    // What it replaces ends here.
    if (history.isEmpty) this.#histories.delete(mapKey);
    else this.#expiry.add(timestamp, history);
    return validTo;
  }
}
