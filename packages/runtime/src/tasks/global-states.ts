import type { Logger } from 'pino';
import type { StreamsConfig } from '../config/streams-config.ts';
import { InvariantError, TaskCorruptedError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { GlobalDirectory } from '../state/directory/global-directory.ts';
import type { StateDirectory } from '../state/directory/state-directory.ts';
import { STATE_TABLES_PER_STORE } from '../state/limits.ts';
import type { GlobalTopology } from '../topology/built-topology.ts';
import { GlobalDisk } from './global-disk.ts';
import { GlobalState } from './global-state.ts';
import type { GlobalPartition } from './global-topics.ts';
import { LocalState } from './local-state.ts';

export interface GlobalStatesOptions {
  readonly topology: GlobalTopology;
  readonly config: StreamsConfig;
  /** Null if no store is on disk. */
  readonly stateDirectory: StateDirectory | null;
  /** Name of the thread. */
  readonly owner: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something has reached the disk. */
  readonly onSpilled: () => void;
  /** What the state has on disk turned out damaged. */
  readonly onDamaged: (state: GlobalState, error: TaskCorruptedError) => void;
}

/** Makes the states of a global thread, one after another, each with a place of its own on disk. */
export class GlobalStates {
  readonly #options: GlobalStatesOptions;
  readonly #directory: GlobalDirectory | null;
  readonly #local: LocalState | null;

  constructor(options: GlobalStatesOptions) {
    const { stateDirectory: directory, clock, owner } = options;
    this.#options = options;
    this.#directory = directory === null ? null : new GlobalDirectory(directory);
    this.#local = directory === null ? null : new LocalState({ directory, clock, owner });
  }

  /** Goes on from what is on disk. Nothing is opened yet. */
  current(): GlobalState {
    return this.#create(this.#directory?.current ?? null);
  }

  /** Has nothing, wherever the one before it is. */
  fresh(): GlobalState {
    return this.#create(this.#directory?.fresh() ?? null);
  }

  /**
   * Opens the state's stores and starts its nodes. What is on disk and cannot be used, a store or all of
   * it, is wiped before; then it is another state that is returned.
   */
  async open(state: GlobalState, partitions: readonly GlobalPartition[]): Promise<GlobalState> {
    // Each store is wiped once at most, and once all of them.
    for (let left = state.stores.size + 1, opened = state; ; left--) {
      try {
        await opened.start();
        opened.disk?.verify(partitions);
        return opened;
      } catch (error) {
        await opened.close();
        const isWiped = error instanceof TaskCorruptedError && error.wipesState && left > 0;
        if (!isWiped) throw error;
        this.#options.logger.warn({ err: error }, error.message);
        opened = this.#create(await this.#wipe(opened, error));
      }
    }
  }

  /** The fresh state is complete: the next start goes on from it. */
  adopt({ disk }: GlobalState): void {
    if (disk?.isUsed === true) this.#directory?.adopt(disk.place);
  }

  /** The state is closed, and of no more use. */
  discard({ disk }: GlobalState): void {
    if (disk !== null) this.#options.stateDirectory?.wipe(disk.place);
  }

  async #wipe(state: GlobalState, error: TaskCorruptedError): Promise<string> {
    if (state.disk === null || this.#local === null) {
      throw new InvariantError('A global state without a disk was found corrupt', { cause: error });
    }
    const { place } = state.disk;
    this.#local.corrupted(place, error);
    await this.#local.prepare(place);
    return place;
  }

  #create(place: string | null): GlobalState {
    const { topology, config, clock, logger } = this.#options;
    const state: GlobalState = new GlobalState({
      applicationId: config.get('application.id'),
      topology,
      handling: {
        deserialization: config.get('deserialization.exception.handler'),
        processing: config.get('processing.exception.handler'),
        production: config.get('production.exception.handler'),
        // Kafka Streams writes none for global stores either.
        deadLetterTopic: null,
      },
      asksProcessingHandler: config.get('processing.exception.handler.global.enabled'),
      appConfigs: config.all,
      clock,
      logger,
      disk: place === null ? null : this.#disk(place, () => state),
    });
    return state;
  }

  #disk(place: string, state: () => GlobalState): GlobalDisk {
    const { topology, stateDirectory, owner, clock, logger, onSpilled, onDamaged } = this.#options;
    return new GlobalDisk({
      directory: stateDirectory as StateDirectory,
      taskName: place,
      owner,
      tableCount: topology.storeOfTopic.size * STATE_TABLES_PER_STORE,
      clock,
      logger: logger.child({ task: place }),
      onSpilled,
      onDamaged: (error) => {
        onDamaged(state(), error);
      },
    });
  }
}
