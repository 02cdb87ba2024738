import type { Logger } from 'pino';
import type { KafkaJsClientOptions } from './client/kafkajs/kafkajs-client.ts';
import type { StreamsClient, TopicPartition } from './client/ports.ts';
import type { UncaughtExceptionHandler } from './error-handlers.ts';
import type { Clock } from './platform/clock.ts';
import type { YieldToEventLoop } from './platform/event-loop.ts';
import type { Random } from './platform/random.ts';
import type { TaskState } from './tasks/task-states.ts';
import type { ThreadState } from './tasks/thread-states.ts';

export interface KafkaStreamsOptions {
  /** A kafkajs instance of your own, with its brokers, TLS and SASL; bootstrap.servers is then not needed. */
  readonly kafka?: NonNullable<KafkaJsClientOptions['kafka']>;
  /** Content of a configuration file: one JSON object with Kafka's names. Code counts for more. */
  readonly configFile?: string;
  /** Environment variables such as MILLRACE_COMMIT_INTERVAL_MS count for most; default: the process's own. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly logger?: Logger;
  /** Asked when a stream thread ends with an error; the default shuts the client down. */
  readonly uncaughtExceptionHandler?: UncaughtExceptionHandler;
  /** Another way to Kafka, or to none, as tests have it; closed together with this client. */
  readonly client?: StreamsClient;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly yieldToEventLoop?: YieldToEventLoop;
}

/** A stream thread of a client (KIP-744). */
export interface StreamThreadMetadata {
  readonly name: string;
  readonly state: ThreadState;
  readonly tasks: readonly StreamTaskMetadata[];
}

export interface StreamTaskMetadata {
  /** `<subtopology>_<partition>`. */
  readonly taskId: string;
  readonly state: TaskState;
  /** Its input partitions. */
  readonly inputs: readonly TopicPartition[];
}

export interface RemoveStreamThreadOptions {
  /** Longest time until the thread has left the group, ms; default 60,000. */
  readonly timeoutMs?: number;
}

export interface CloseOptions {
  /** Longest time until `close` settles, ms; default 60,000. What is not done by then is left undone. */
  readonly timeoutMs?: number;
}
