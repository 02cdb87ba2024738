import type { Logger } from 'pino';
import type { StreamsConfig } from '../config/streams-config.ts';
import type { Outcome } from '../operators/outcome.ts';
import type { StateStore } from '../state/store.ts';
import { createTask } from '../tasks/create-task.ts';
import { ThreadShares } from '../tasks/thread-shares.ts';
import { GlobalState } from '../tasks/global-state.ts';
import { globalStoreView } from '../tasks/global-store-view.ts';
import type { StreamTask } from '../tasks/stream-task.ts';
import type { BuiltTopology, GlobalTopology } from '../topology/built-topology.ts';
import type { DriverClock } from './driver-clock.ts';
import { DriverPartitions, type InputBytes } from './driver-partitions.ts';
import { DriverProducer, type ProducedBytes } from './driver-producer.ts';
import {
  andThen,
  closeTask,
  commitTask,
  inTurn,
  processOne,
  punctuateWallClock,
  startTask,
} from './driver-tasks.ts';
import { layOut, type DriverLayout, type PartitionsOption } from './driver-topology.ts';

export interface EngineOptions {
  readonly built: BuiltTopology;
  readonly config: StreamsConfig;
  readonly partitions: PartitionsOption | undefined;
  readonly clock: DriverClock;
  readonly logger: Logger;
  /** Called with each record that was sent, once the record that it comes from is committed. */
  readonly onProduced: (record: ProducedBytes) => void;
}

/** Tasks and global stores in memory, and what makes records go through them until none is left. */
export class DriverEngine {
  readonly layout: DriverLayout;
  readonly #options: EngineOptions;
  readonly #producer: DriverProducer;
  readonly #partitions = new DriverPartitions();
  readonly #global: GlobalState | null;
  readonly #tasks: readonly StreamTask[];

  constructor(options: EngineOptions) {
    const { built, config, clock, logger } = options;
    this.#options = options;
    this.layout = layOut(built, options.partitions);
    const { partitionCounts, topology, tasks } = this.layout;
    this.#producer = new DriverProducer((topic) => partitionCounts.get(topic) ?? 1);
    this.#global = built.global === null ? null : this.#globalState(built.global);
    const shares = new ThreadShares(config, built.global !== null);
    // One thread has it all.
    shares.shareAmong(1);
    const environment = {
      topology,
      globalStores: this.#globalViews(),
      config,
      producer: this.#producer,
      clock,
      random: () => 0,
      cache: shares.cache(),
      logger,
      onResumable: () => undefined,
    };
    this.#tasks = tasks.map(({ id, inputs }) => createTask(environment, id, inputs));
  }

  get streamTimeMs(): number {
    return Math.max(-1, ...this.#tasks.map((task) => task.streamTimeMs));
  }

  get droppedCount(): number {
    const global = this.#global?.droppedCount ?? 0;
    return this.#tasks.reduce((sum, task) => sum + task.droppedCount, global);
  }

  /** Those of the tasks of a partition, and the global ones. */
  stores(partition: number): ReadonlyMap<string, StateStore> {
    const stores = new Map(this.#global?.stores);
    for (const task of this.#tasks) {
      if (task.id.partition !== partition) continue;
      for (const { store } of task.stores.entries) stores.set(store.name, store);
    }
    return stores;
  }

  start(): Outcome {
    return andThen(this.#startGlobal(), () =>
      inTurn(this.#tasks, (task) =>
        andThen(startTask(task), () => {
          for (const queue of task.queues) {
            this.#partitions.add(queue.topic, queue.partition, (fetched) => {
              task.push(queue, fetched, fetched.highWatermark);
            });
          }
          return undefined;
        }),
      ),
    );
  }

  reads(topic: string, partition: number): boolean {
    return this.#partitions.has(topic, partition);
  }

  /** Processes a record and all that follows from it. */
  pipe(topic: string, partition: number, record: InputBytes): Outcome {
    return andThen(this.#append(topic, partition, record), () => this.#work());
  }

  /** The clock has gone on. */
  punctuate(): Outcome {
    const now = this.#options.clock.now();
    const done = inTurn(this.#tasks, (task) =>
      andThen(punctuateWallClock(task, now), () => commitTask(task)),
    );
    return andThen(done, () => this.#captureAndWork());
  }

  /** Caches let go what they hold, and the tasks process what follows from it. */
  flush(): Outcome {
    return andThen(inTurn(this.#tasks, commitTask), () => this.#captureAndWork());
  }

  close(): Outcome {
    return andThen(inTurn(this.#tasks, closeTask), () => this.#global?.close());
  }

  #startGlobal(): Outcome {
    const global = this.#global;
    if (global === null) return undefined;
    return andThen(global.start(), () => {
      for (const topic of (this.#options.built.global as GlobalTopology).storeOfTopic.keys()) {
        const count = this.layout.partitionCounts.get(topic) ?? 1;
        for (let partition = 0; partition < count; partition++) {
          global.addPartition(topic, partition, 0n);
          this.#partitions.add(topic, partition, (fetched) => {
            global.push(fetched);
          });
        }
      }
      return undefined;
    });
  }

  #globalState(topology: GlobalTopology): GlobalState {
    const { config, clock, logger } = this.#options;
    return new GlobalState({
      applicationId: config.get('application.id'),
      topology,
      handling: {
        // As in Kafka's driver, whatever is configured.
        deserialization: 'continue',
        processing: config.get('processing.exception.handler'),
        production: config.get('production.exception.handler'),
        deadLetterTopic: null,
      },
      asksProcessingHandler: config.get('processing.exception.handler.global.enabled'),
      appConfigs: config.all,
      clock,
      logger,
    });
  }

  #globalViews(): ReadonlyMap<string, StateStore> | undefined {
    const global = this.#global;
    if (global === null) return undefined;
    return new Map(
      [...global.stores].map(([name, store]) => [name, globalStoreView(name, () => store)]),
    );
  }

  /** Global stores are up to date at once; tasks find the record in their queues. */
  #append(topic: string, partition: number, record: InputBytes): Outcome {
    this.#partitions.append(topic, partition, record);
    return this.#global?.process(Infinity);
  }

  /** Until no task has anything left to do. */
  #work(): Outcome {
    for (;;) {
      const now = this.#options.clock.now();
      const task = this.#tasks.find((one) => one.isReady(now));
      if (task === undefined) return undefined;
      const outcome = this.#step(task, now);
      if (outcome !== undefined) return outcome.then(() => this.#work());
    }
  }

  #step(task: StreamTask, now: number): Outcome {
    return andThen(processOne(task, now), () => andThen(commitTask(task), () => this.#capture()));
  }

  #captureAndWork(): Outcome {
    return andThen(this.#capture(), () => this.#work());
  }

  /** What was sent can be read now, and goes to those who read its topic. */
  #capture(): Outcome {
    return inTurn(this.#producer.take(), (record) => {
      this.#options.onProduced(record);
      return this.#append(record.topic, record.partition, record);
    });
  }
}
