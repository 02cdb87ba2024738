import { uuidFromString } from '@millrace/protocol';
import { TaskCorruptedError } from '../errors.ts';
import type { StateEnvironment } from '../state/persistent/environment.ts';
import {
  TaskDisk,
  type SpilledStore,
  type TaskDiskOptions,
} from '../state/persistent/task-disk.ts';
import type { PersistentStore } from '../state/store.ts';
import type { GlobalPartition } from './global-topics.ts';

/** Beside a store's rows, under names that no store has: `<store>/<partition>` and this one. */
const TOPIC_ID = 'topic-id';

/** By partition of a store's topic: the next offset after all that is in the store. */
export type GlobalPositions = ReadonlyMap<number, bigint>;

export interface GlobalDiskOptions extends Omit<TaskDiskOptions, 'onDamaged'> {
  /** What was read turned out damaged. Whoever read it is told, too. */
  readonly onDamaged: (error: TaskCorruptedError) => void;
}

/**
 * The disk of the global stores: an environment as a task's, in which a store stands at positions of
 * all partitions of its topic. Positions are written after the rows that they speak of. A kill in between
 * leaves rows that are newer, and what is applied again comes to the same end, as long as the processor
 * that fills the store makes the same of the same record.
 */
export class GlobalDisk {
  readonly #disk: TaskDisk;
  readonly #place: string;
  readonly #stores = new Map<string, StoreAtPositions>();

  constructor(options: GlobalDiskOptions) {
    this.#place = options.taskName;
    this.#disk = new TaskDisk({
      ...options,
      onDamaged: (error) => {
        options.onDamaged(error);
        // A task that read it has nothing of its own to be wiped.
        return new TaskCorruptedError(error.message, { cause: error, context: error.context });
      },
    });
  }

  /** Name of its directory. */
  get place(): string {
    return this.#place;
  }

  /** Whether any store is on disk. */
  get isUsed(): boolean {
    return this.#stores.size > 0;
  }

  /** See `TaskDisk`. */
  diskOf(store: PersistentStore): StateEnvironment {
    const found: StoreAtPositions = new StoreAtPositions(store, () => environment);
    const environment = this.#disk.diskOf(found);
    this.#stores.set(store.name, found);
    return environment;
  }

  directoryOf(storeName: string): string {
    return this.#disk.directoryOf(storeName);
  }

  keeps(storeName: string): boolean {
    return this.#disk.keeps(storeName);
  }

  /** Where reading goes on; null if the store has nothing of the partition. */
  position({ storeName, partition }: GlobalPartition): bigint | null {
    return this.#stores.get(storeName)?.position(partition) ?? null;
  }

  /** @throws TaskCorruptedError that names a store whose topic is not the one it was filled from */
  verify(partitions: readonly GlobalPartition[]): void {
    for (const at of partitions) {
      const position = this.position(at);
      if (position === null) continue;
      const { topic, partition, storeName, topicId, beginning, logEnd } = at;
      const store = this.#stores.get(storeName) as StoreAtPositions;
      if (store.isOfOtherTopic(topicId) || position > logEnd) {
        const where = `offset ${position.toString()} of ${topic}-${String(partition)}`;
        this.#refuse(at, `knows ${where}, but the topic was created anew`);
      }
      if (position < beginning) {
        const span = `${position.toString()} to ${beginning.toString()}`;
        this.#refuse(at, `does not know what ${topic}-${String(partition)} had from ${span}`);
      }
    }
  }

  /** What the store has been given so far stands, with these positions. */
  commit(storeName: string, topicId: string | null, positions: GlobalPositions): void {
    this.#stores.get(storeName)?.stand(topicId, positions);
  }

  spillIfDue(nowMs: number): void {
    this.#disk.spillIfDue(nowMs);
  }

  get spillDueMs(): number {
    return this.#disk.spillDueMs;
  }

  isBehind(): boolean {
    return this.#disk.isBehind();
  }

  close(): Promise<void> {
    return this.#disk.close();
  }

  #refuse({ storeName: store }: GlobalPartition, why: string): never {
    throw new TaskCorruptedError(
      `The global store ${store} ${why}; it is wiped and restored from the start`,
      { context: { task: this.#place, store }, wipesState: true },
    );
  }
}

/** A store whose positions reach the disk after its rows. */
class StoreAtPositions implements SpilledStore {
  readonly #store: PersistentStore;
  readonly #environment: () => StateEnvironment;
  #topicId: string | null = null;
  #positions: GlobalPositions = new Map();

  constructor(store: PersistentStore, environment: () => StateEnvironment) {
    this.#store = store;
    this.#environment = environment;
  }

  get name(): string {
    return this.#store.name;
  }

  get isOpen(): boolean {
    return this.#store.isOpen;
  }

  get unspilledBytes(): number {
    return this.#store.unspilledBytes;
  }

  position(partition: number): bigint | null {
    return this.#environment().offset(this.#beside(String(partition)));
  }

  isOfOtherTopic(topicId: string | null): boolean {
    const known = this.#environment().offset(this.#beside(TOPIC_ID));
    return known !== null && topicId !== null && known !== numberOf(topicId);
  }

  stand(topicId: string | null, positions: GlobalPositions): void {
    this.#topicId = topicId;
    this.#positions = positions;
  }

  async spill(): Promise<void> {
    // Before the rows: what is committed while they are written has later positions.
    const positions = this.#positions;
    await this.#store.spill();
    const environment = this.#environment();
    if (this.#topicId !== null && positions.size > 0) {
      await environment.setOffset(this.#beside(TOPIC_ID), numberOf(this.#topicId));
    }
    const moved = [...positions].filter(([partition, at]) => this.position(partition) !== at);
    await Promise.all(
      moved.map(([partition, at]) => environment.setOffset(this.#beside(String(partition)), at)),
    );
  }

  close(): void {
    this.#store.close();
  }

  #beside(name: string): string {
    return `${this.#store.name}/${name}`;
  }
}

/** Enough of the id to tell two topics apart. */
function numberOf(topicId: string): bigint {
  return uuidFromString(topicId).readBigInt64BE(0);
}
