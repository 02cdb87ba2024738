import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileJava } from '../support/kafka/compile-java.ts';
import { LineServer } from '../support/line-server.ts';

type Config = Readonly<Record<string, string>>;
/** By partition, as "topic-0". */
export type ByPartition<T> = Readonly<Record<string, T>>;

export interface JavaRecordToSend {
  readonly topic: string;
  readonly partition?: number;
  readonly timestamp?: number;
  readonly key?: string | null;
  readonly value?: string | null;
  readonly headers?: readonly { readonly name: string; readonly value: string | null }[];
}

export interface JavaRecord {
  readonly partition: number;
  readonly offset: number;
  readonly timestamp: number;
  readonly timestampType: 'CreateTime' | 'LogAppendTime';
  readonly key: string | null;
  readonly value: string | null;
  readonly headers: readonly (readonly [string, string | null])[];
}

/** What a consumer was in its group when it was asked. */
interface JavaMembership {
  /** Its name in the Java process. */
  readonly membership: string;
  readonly generation: number;
  readonly memberId: string;
}

interface Answer {
  readonly result?: unknown;
  readonly failure?: { readonly name: string; readonly message: string };
}

/** What a Java client has thrown; its name is that of the exception's class. */
class JavaError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

const sources = join(dirname(fileURLToPath(import.meta.url)), 'java');
// It lives for seconds: compiling well would cost more than it gains.
const JAVA = ['-Xmx512m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
const CLASSIC_MEMBER: Config = {
  'group.protocol': 'classic',
  'session.timeout.ms': '6000',
  'heartbeat.interval.ms': '200',
  'fetch.max.wait.ms': '100',
  'auto.offset.reset': 'earliest',
  'enable.auto.commit': 'false',
};

/** One Java process with Kafka's own clients, version 4.4; see java/Main.java. */
export class JavaClients {
  readonly #server: LineServer;
  #count = 0;

  constructor(bootstrapServers: string) {
    const classPath = compileJava('interop-clients', sources);
    this.#server = new LineServer('java', [
      ...JAVA,
      '-cp',
      classPath,
      'interop.Main',
      bootstrapServers,
    ]);
  }

  async ask<T>(call: string, fields: object = {}): Promise<T> {
    const { result, failure, error } = await this.#server.ask<Answer>({ call, ...fields });
    if (error !== undefined) throw new Error(error);
    if (failure !== undefined) throw new JavaError(failure.name, failure.message);
    return result as T;
  }

  admin<T = unknown>(what: string, fields: object = {}): Promise<T> {
    return this.ask<T>(`admin.${what}`, fields);
  }

  async producer(config: Config = {}): Promise<JavaProducer> {
    const name = this.#newName();
    await this.ask('producer.open', { name, config });
    return new JavaProducer(this, name);
  }

  /** A consumer of the classic protocol that begins at the beginning and commits when it is told to. */
  async consumer(config: Config = {}): Promise<JavaConsumer> {
    const name = this.#newName();
    await this.ask('consumer.open', { name, config: { ...CLASSIC_MEMBER, ...config } });
    return new JavaConsumer(this, name);
  }

  async wordCount(input: string, output: string, config: Config): Promise<JavaWordCount> {
    const name = this.#newName();
    await this.ask('streams.open', { name, input, output, config });
    return new JavaWordCount(this, name);
  }

  /** kill -9, in the middle of whatever they do. */
  kill(): Promise<void> {
    return this.#server.kill();
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #newName(): string {
    return `client ${this.#count++}`;
  }
}

class Client {
  readonly #java: JavaClients;
  readonly #kind: string;
  readonly #name: string;

  constructor(java: JavaClients, kind: string, name: string) {
    this.#java = java;
    this.#kind = kind;
    this.#name = name;
  }

  protected ask<T>(what: string, fields: object = {}): Promise<T> {
    return this.#java.ask<T>(`${this.#kind}.${what}`, { name: this.#name, ...fields });
  }

  close(): Promise<unknown> {
    return this.ask('close');
  }
}

export class JavaProducer extends Client {
  constructor(java: JavaClients, name: string) {
    super(java, 'producer', name);
  }

  /** Sends all at once and waits for all; where each has come to, "topic-0@5". */
  send(records: readonly JavaRecordToSend[]): Promise<readonly string[]> {
    return this.ask('send', { records });
  }

  initTransactions(): Promise<void> {
    return this.ask('initTransactions');
  }

  begin(): Promise<void> {
    return this.ask('begin');
  }

  commit(): Promise<void> {
    return this.ask('commit');
  }

  abort(): Promise<void> {
    return this.ask('abort');
  }

  sendOffsets(offsets: ByPartition<number>, { membership }: JavaMembership): Promise<void> {
    return this.ask('sendOffsets', { offsets, membership });
  }

  /** Goes on sending "0", "1", ... to the topic's first partition until `endStretch`. */
  startStretch(topic: string): Promise<void> {
    return this.ask('startStretch', { topic });
  }

  /** How many of them are acknowledged. */
  acknowledged(): Promise<number> {
    return this.ask('acknowledged');
  }

  endStretch(): Promise<{ readonly sent: number; readonly failures: readonly string[] }> {
    return this.ask('endStretch');
  }
}

export class JavaConsumer extends Client {
  constructor(java: JavaClients, name: string) {
    super(java, 'consumer', name);
  }

  subscribe(...topics: string[]): Promise<void> {
    return this.ask('subscribe', { topics });
  }

  subscribeToPattern(pattern: string): Promise<void> {
    return this.ask('subscribe', { pattern });
  }

  assign(...partitions: string[]): Promise<void> {
    return this.ask('assign', { partitions });
  }

  assignAt(offsets: ByPartition<number>): Promise<void> {
    return this.ask('assignAt', { offsets });
  }

  seek(offsets: ByPartition<number>): Promise<void> {
    return this.ask('seek', { offsets });
  }

  /** Of all that was polled, if no offsets are given. */
  commit(offsets?: ByPartition<number>): Promise<void> {
    return this.ask('commit', { offsets });
  }

  committed(...partitions: string[]): Promise<ByPartition<number | null>> {
    return this.ask('committed', { partitions });
  }

  position(): Promise<ByPartition<number>> {
    return this.ask('position');
  }

  beginningOffsets(...partitions: string[]): Promise<ByPartition<number>> {
    return this.ask('beginningOffsets', { partitions });
  }

  endOffsets(...partitions: string[]): Promise<ByPartition<number>> {
    return this.ask('endOffsets', { partitions });
  }

  offsetsForTimes(times: ByPartition<number>): Promise<ByPartition<number | null>> {
    return this.ask('offsetsForTimes', { times });
  }

  assignment(): Promise<readonly string[]> {
    return this.ask('assignment');
  }

  /** "assigned [t-0, t-1]" and "revoked [...]", since it was opened. */
  rebalances(): Promise<readonly string[]> {
    return this.ask('rebalances');
  }

  group(): Promise<JavaMembership> {
    return this.ask('group');
  }

  /** What was read since the last call, as soon as it is `count` records or more. */
  records(count: number): Promise<readonly JavaRecord[]> {
    return this.ask('records', { count });
  }
}

class JavaWordCount extends Client {
  constructor(java: JavaClients, name: string) {
    super(java, 'streams', name);
  }

  /** Kafka Streams' name of its state, or the exception that has ended it. */
  state(): Promise<string> {
    return this.ask('state');
  }
}
