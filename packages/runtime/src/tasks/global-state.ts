import type { Logger } from 'pino';
import type { FetchedPartition, TopicPartition } from '../client/ports.ts';
import { topicPartitionKey } from '../client/ports.ts';
import { InvariantError, StreamsError } from '../errors.ts';
import type { Outcome } from '../operators/outcome.ts';
import type { RecordCollector } from '../operators/record-collector.ts';
import type { TaskId } from '../operators/task-context.ts';
import type { Clock } from '../platform/clock.ts';
import type { StateStore } from '../state/store.ts';
import type { GlobalTopology, SourceNode, TaskTopology } from '../topology/built-topology.ts';
import { DeadLetters } from './dead-letters.ts';
import type { ErrorHandling } from './error-handling.ts';
import { processingError, TaskErrors } from './error-handling.ts';
import type { GlobalDisk } from './global-disk.ts';
import { Punctuations } from './punctuations.ts';
import { RecordQueue } from './record-queue.ts';
import { StreamTaskContext } from './stream-task-context.ts';
import { StreamTime } from './stream-time.ts';
import { taskName } from './task-id.ts';

/** Kafka Streams' id for what no task runs. */
const GLOBAL_ID: TaskId = { subtopology: -1, partition: -1 };
export const GLOBAL_TASK_NAME = taskName(GLOBAL_ID);

export interface GlobalStateOptions {
  readonly applicationId: string;
  readonly topology: GlobalTopology;
  readonly handling: ErrorHandling;
  /** `processing.exception.handler.global.enabled`; without it, what a node throws always ends processing. */
  readonly asksProcessingHandler: boolean;
  readonly appConfigs: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where stores on disk are kept; null if there are none, or they only behave like it. */
  readonly disk?: GlobalDisk | null;
}

/**
 * The global stores of one instance and the nodes that fill them. Records of the global topics are
 * read, timed and passed through the nodes here, whether they come from a restoration, from the
 * cluster afterwards, or from a test driver:
 *
 * - A record that cannot be read is one for `deserialization.exception.handler`.
 * - One whose timestamp extractor returns a negative time is skipped and counted. (Kafka Streams fails
 *   there, although the extractor asked for it to be skipped.)
 * - A table drops and counts a record without a key.
 *
 * These records move no task's stream time. A commit marks all that was applied, together with the
 * positions in the topics; where stores are on disk, the next start goes on from there.
 */
export class GlobalState {
  readonly stores: ReadonlyMap<string, StateStore>;
  readonly disk: GlobalDisk | null;
  readonly #options: GlobalStateOptions;
  readonly #topology: TaskTopology;
  readonly #streamTime = new StreamTime();
  readonly #context: StreamTaskContext;
  readonly #errors: TaskErrors;
  /** An asynchronous timestamp extractor's. */
  #extractionFailure: Error | null = null;
  readonly #queues = new Map<string, RecordQueue>();
  readonly #processed = new Map<RecordQueue, number>();
  readonly #topicIds = new Map<string, string | null>();
  #isStarted = false;
  /** False: what a record did before it failed must not be committed. */
  #isWhole = false;

  constructor(options: GlobalStateOptions) {
    const { applicationId, appConfigs, clock, handling, logger } = options;
    this.#options = options;
    this.#topology = options.topology.instantiate();
    this.stores = this.#topology.stores;
    this.disk = options.disk ?? null;
    this.#context = new StreamTaskContext({
      applicationId,
      taskId: GLOBAL_ID,
      logger,
      collector: noCollector,
      stores: this.stores,
      streamTime: this.#streamTime,
      clock,
      punctuations: new Punctuations((_node, error) => {
        throw error;
      }),
      appConfigs,
      disk: this.disk,
    });
    this.#errors = new TaskErrors({
      taskName: GLOBAL_TASK_NAME,
      handling,
      context: this.#context,
      deadLetters: new DeadLetters(({ topic }) => {
        logger.warn({ topic }, 'a dead letter of a global store is not written');
        return undefined;
      }),
    });
  }

  get processedCount(): number {
    let sum = 0;
    for (const count of this.#processed.values()) sum += count;
    return sum;
  }

  /** Records that were taken from this partition, dropped ones included. */
  processedOf(queue: RecordQueue): number {
    return this.#processed.get(queue) ?? 0;
  }

  get droppedCount(): number {
    return this.#context.dropped.count;
  }

  /** Opens the stores and starts the nodes. */
  start(): Outcome {
    this.#isStarted = true;
    for (const store of this.stores.values()) store.open(this.#context, null);
    this.#isWhole = true;
    return this.#startNodes(0);
  }

  /** Reads a partition from this offset on. */
  addPartition(
    topic: string,
    partition: number,
    position: bigint,
    topicId: string | null = null,
  ): RecordQueue {
    const source = this.#topology.sources.get(topic);
    if (source === undefined) throw new InvariantError(`${topic} fills no global store.`);
    const queue = new RecordQueue({
      topic,
      partition,
      source,
      position,
      partitionTime: -1,
      streamTime: this.#streamTime,
      failures: {
        undecodable: (error, from, hasRecord) => this.#errors.undecodable(error, from, hasRecord),
        invalidTimestamp: (from, timestamp) => {
          this.#invalidTimestamp(from, timestamp);
        },
      },
      now: () => this.#context.currentSystemTimeMs(),
      onExtracted: (error) => {
        this.#extractionFailure ??= error;
      },
    });
    this.#queues.set(topicPartitionKey(topic, partition), queue);
    this.#topicIds.set(topic, topicId);
    return queue;
  }

  queue({ topic, partition }: TopicPartition): RecordQueue | undefined {
    return this.#queues.get(topicPartitionKey(topic, partition));
  }

  get queues(): Iterable<RecordQueue> {
    return this.#queues.values();
  }

  /** What was fetched; what belongs to no partition here is dropped. */
  push(fetched: FetchedPartition): void {
    this.queue(fetched)?.push(fetched, fetched.highWatermark);
  }

  /** Puts up to `maxRecords` of what waits in each partition through the nodes. Throws what ends processing. */
  process(maxRecords: number): Outcome {
    return this.#process([...this.#queues.values()], 0, maxRecords);
  }

  /** All that was applied so far stands; to be called when no record is in hand. */
  commit(): void {
    for (const store of this.stores.values()) store.commit(null);
    if (this.disk === null) return;
    for (const [topic, storeName] of this.#options.topology.storeOfTopic) {
      const positions = new Map<number, bigint>();
      for (const queue of this.#queues.values()) {
        if (queue.topic === topic) positions.set(queue.partition, queue.committableOffset);
      }
      this.disk.commit(storeName, this.#topicIds.get(topic) ?? null, positions);
    }
  }

  /**
   * Closes nodes and stores; never throws. What stores on disk were given stands, unless a record
   * failed half-way.
   */
  close(): Outcome {
    if (!this.#isStarted) return undefined;
    this.#isStarted = false;
    const pending: Promise<unknown>[] = [];
    for (const node of this.#topology.nodes) {
      this.#attempt(() => {
        const outcome = node.close();
        if (outcome instanceof Promise) pending.push(outcome);
      });
    }
    const closeStores = (): Outcome => {
      if (this.#isWhole) {
        this.#attempt(() => {
          this.commit();
        });
      }
      for (const store of this.stores.values()) {
        if (!store.isOpen || this.disk?.keeps(store.name) === true) continue;
        this.#attempt(() => {
          store.close();
        });
      }
      return this.disk?.close().catch((error: unknown) => {
        this.#warnNotClosed(error);
      });
    };
    if (pending.length === 0) return closeStores();
    return Promise.allSettled(pending).then(closeStores);
  }

  #startNodes(from: number): Outcome {
    const { nodes } = this.#topology;
    for (let i = from; i < nodes.length; i++) {
      const node = nodes[i] as SourceNode;
      if (this.#options.asksProcessingHandler) node.attach(this.#errors);
      node.init(this.#context);
      const outcome = node.start();
      if (outcome !== undefined) return outcome.then(() => this.#startNodes(i + 1));
    }
    return undefined;
  }

  #process(queues: readonly RecordQueue[], first: number, maxRecords: number): Outcome {
    for (let i = first; i < queues.length; i++) {
      const queue = queues[i] as RecordQueue;
      const outcome = this.#drain(queue, maxRecords);
      if (outcome !== undefined) {
        return outcome.then(() => this.#process(queues, i + 1, maxRecords));
      }
    }
    return undefined;
  }

  #drain(queue: RecordQueue, maxRecords: number): Outcome {
    this.#context.queue = queue;
    let count = 0;
    try {
      while (count < maxRecords && queue.hasHead) {
        count++;
        const outcome = queue.processHead();
        if (outcome instanceof Promise) return this.#drainLater(outcome, queue, maxRecords - count);
        queue.advance();
      }
    } catch (error) {
      throw this.#located(error, queue);
    } finally {
      this.#processed.set(queue, this.processedOf(queue) + count);
    }
    this.#context.queue = null;
    if (this.#extractionFailure !== null) throw this.#extractionFailure;
    if (queue.extraction === null || count === maxRecords) return undefined;
    return queue.extraction.then(() => this.#drain(queue, maxRecords - count));
  }

  async #drainLater(outcome: Promise<void>, queue: RecordQueue, maxRecords: number): Promise<void> {
    try {
      await outcome;
      queue.advance();
    } catch (error) {
      throw this.#located(error, queue);
    }
    await this.#drain(queue, maxRecords);
  }

  #located(error: unknown, queue: RecordQueue): Error {
    this.#isWhole = false;
    if (error instanceof StreamsError) return error;
    const { topic, partition } = queue;
    return processingError(
      {
        taskId: GLOBAL_TASK_NAME,
        processorNodeId: queue.source.name,
        topic,
        partition,
        offset: queue.headOffset(),
      },
      error,
      'record',
    );
  }

  #invalidTimestamp(queue: RecordQueue, timestamp: number): void {
    const { topic, partition } = queue;
    const offset = queue.headOffset().toString();
    const where = { topic, partition, offset, timestamp };
    this.#context.dropped.record(queue.source.name, 'negative timestamp', where);
  }

  #attempt(close: () => void): void {
    try {
      close();
    } catch (error) {
      this.#warnNotClosed(error);
    }
  }

  #warnNotClosed(error: unknown): void {
    this.#options.logger.warn({ err: error }, 'a part of the global state could not be closed');
  }
}

function refuse(topic: string): never {
  throw new InvariantError(`A node of a global store writes to ${topic}: nothing follows it.`);
}

const noCollector: RecordCollector = { topic: refuse, partition: refuse };
