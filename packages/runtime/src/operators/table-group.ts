import { isDeepStrictEqual } from 'node:util';
import type { RecordHeaders } from '@millrace/protocol';
import { ProcessingError } from '../errors.ts';
import { Change } from '../serdes/change.ts';
import type { KeyValue, KeyValueMapper } from './map.ts';
import { isPromise, type Awaitable } from './outcome.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';

/** What the nodes of one grouping share over all tasks. */
export interface TableGrouping<K, V, KR, VR> {
  readonly mapper: KeyValueMapper<K, V, KeyValue<KR | null, VR | null>>;
  /** The grouped table is versioned (KIP-914): late changes are not passed on. */
  isParentVersioned: boolean;
}

type Pair<KR, VR> = KeyValue<KR | null, VR | null> | null;

/**
 * `groupBy` of a table, up to its repartition topic. Each change is put to the function as new and old
 * value, null ones excepted, and sent under the key that it returns: as one record with both
 * values if the key stays the same (KIP-904), else the old one first, then the new one, each alone. A
 * half whose new key or value is null is left out. Timestamp and headers stay. A late change of
 * a versioned table is left out. A null key is an error.
 */
export class TableGroupOperator<K, V, KR, VR> extends ProcessorNode {
  readonly #grouping: TableGrouping<K, V, KR, VR>;
  /** Sinks write a record before they return, so one object does for all. */
  readonly #change = new Change<VR>(null, null);

  constructor(name: string, grouping: TableGrouping<K, V, KR, VR>) {
    super(name);
    this.#grouping = grouping;
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
    isLatest = true,
  ): Outcome {
    if (key === null) {
      throw new ProcessingError(
        `The node ${this.name} groups a table, but got a change without a key.`,
      );
    }
    if (!isLatest && this.#grouping.isParentVersioned) return undefined;
    const mapped = this.#map(key as K, value as V | null);
    if (isPromise(mapped)) {
      return this.#later(mapped, key as K, old as V | null, timestamp, headers);
    }
    const mappedOld = this.#map(key as K, old as V | null);
    if (isPromise(mappedOld)) return this.#oldLater(mapped, mappedOld, timestamp, headers);
    return this.#send(mapped, mappedOld, timestamp, headers);
  }

  #map(key: K, value: V | null): Awaitable<Pair<KR, VR>> {
    return value === null ? null : this.#grouping.mapper(key, value);
  }

  #send(
    mapped: Pair<KR, VR>,
    mappedOld: Pair<KR, VR>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const key = mapped?.[0] ?? null;
    const value = mapped?.[1] ?? null;
    const oldKey = mappedOld?.[0] ?? null;
    const oldValue = mappedOld?.[1] ?? null;
    const hasNew = key !== null && value !== null;
    const hasOld = oldKey !== null && oldValue !== null;
    if (hasNew && hasOld && isSameKey(key, oldKey)) {
      return this.#sendChange(oldKey, value, oldValue, timestamp, headers);
    }
    if (hasOld) {
      const outcome = this.#sendChange(oldKey, null, oldValue, timestamp, headers);
      if (outcome !== undefined && hasNew) {
        return this.#sendNewLater(outcome, key, value, timestamp, headers);
      }
      if (!hasNew) return outcome;
    }
    return hasNew ? this.#sendChange(key, value, null, timestamp, headers) : undefined;
  }

  #sendChange(
    key: KR,
    newValue: VR | null,
    oldValue: VR | null,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    this.#change.newValue = newValue;
    this.#change.oldValue = oldValue;
    return this.children.forward(key, this.#change, null, timestamp, headers);
  }

  async #sendNewLater(
    first: Promise<void>,
    key: KR,
    value: VR,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await first;
    await this.#sendChange(key, value, null, timestamp, headers);
  }

  async #later(
    pending: PromiseLike<Pair<KR, VR>>,
    key: K,
    old: V | null,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    const mapped = await pending;
    const mappedOld = await this.#map(key, old);
    await this.#send(mapped, mappedOld, timestamp, headers);
  }

  async #oldLater(
    mapped: Pair<KR, VR>,
    pending: PromiseLike<Pair<KR, VR>>,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await this.#send(mapped, await pending, timestamp, headers);
  }
}

function isSameKey(key: unknown, other: unknown): boolean {
  return key === other || (typeof key === 'object' && isDeepStrictEqual(key, other));
}
