import type { RecordHeaders } from '@millrace/protocol';
import pino from 'pino';
import type { RecordCollector } from '../record-collector.ts';
import type { RecordSerde } from '../../serdes/serde.ts';
import type { StateStore } from '../../state/store.ts';
import type { TaskContext } from '../task-context.ts';
import { ProcessorNode, type Outcome } from '../processor-node.ts';
import { Punctuations } from '../../tasks/punctuations.ts';

/** One record as a node forwarded it. */
export interface Forwarded {
  readonly key: unknown;
  readonly value: unknown;
  readonly old: unknown;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/** A last node that keeps what reaches it; asynchronous if told so. */
export class CaptureNode extends ProcessorNode {
  readonly forwarded: Forwarded[] = [];
  isAsynchronous = false;

  constructor(name = 'capture') {
    super(name);
  }

  override process(
    key: unknown,
    value: unknown,
    old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const record = { key, value, old, timestamp, headers };
    if (!this.isAsynchronous) {
      this.forwarded.push(record);
      return undefined;
    }
    return Promise.resolve().then(() => {
      this.forwarded.push(record);
    });
  }

  /** `key=value@timestamp`, with the old value where there is one. */
  take(): string[] {
    const texts = this.forwarded.map(({ key, value, old, timestamp }) => {
      const change = old === null ? text(value) : `${text(old)}->${text(value)}`;
      return `${text(key)}=${change}@${String(timestamp)}`;
    });
    this.forwarded.length = 0;
    return texts;
  }
}

/** A record as it left a task, in bytes. */
export interface Sent {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly timestamp: number;
  readonly headers: RecordHeaders | null;
}

/** A task for unit tests of nodes and stores: keeps what is sent and dropped. */
export class TaskDouble {
  readonly sent: Sent[] = [];
  readonly dropped: string[] = [];
  commitRequests = 0;
  /** Replaced by tests: a topic whose partition count is not known yet. */
  prepareTopic: (topic: string) => Promise<void> | undefined = () => undefined;
  readonly punctuations = new Punctuations((_node, error) => {
    throw error;
  });
  readonly stores = new Map<string, StateStore>();
  readonly collector: RecordCollector = {
    topic: (topic) => ({
      prepare: () => this.prepareTopic(topic),
      send: (key, keySerde, value, valueSerde, timestamp, headers) => {
        const sent = { topic, key: bytes(keySerde, key), value: bytes(valueSerde, value) };
        this.sent.push({ ...sent, timestamp, headers });
        return undefined;
      },
    }),
    partition: (topic) => ({
      append: (timestamp, source, start, end, value, valueSerde, headers) => {
        const key = Buffer.from(source.subarray(start, end));
        this.sent.push({ topic, key, value: bytes(valueSerde, value), timestamp, headers });
      },
    }),
  };
  readonly context: TaskContext = {
    applicationId: 'test',
    taskId: { subtopology: 0, partition: 0 },
    logger: pino({ level: 'silent' }),
    collector: this.collector,
    topic: 'in',
    partition: 0,
    offset: () => 0n,
    origin: null,
    currentStreamTimeMs: () => -1,
    currentSystemTimeMs: () => 0,
    store: (name) => {
      const store = this.stores.get(name);
      if (store === undefined) throw new Error(`no store ${name}`);
      return store;
    },
    requestCommit: () => {
      this.commitRequests++;
    },
    appConfigs: { 'application.id': 'test' },
    schedule: (node, type, startMs, intervalMs, punctuate) =>
      this.punctuations.schedule(node, type, startMs, intervalMs, punctuate, 0),
    recordDropped: (node, reason) => {
      this.dropped.push(`${node}: ${reason}`);
    },
  };

  /** Opens a store; its changelog is `<name>-changelog`. */
  open<S extends StateStore>(store: S): S {
    this.stores.set(store.name, store);
    store.open(this.context, this.collector.partition(`${store.name}-changelog`, 0));
    return store;
  }

  /** Initialises a node with a capturing child. */
  start(node: ProcessorNode): CaptureNode {
    const capture = new CaptureNode();
    node.children.add(capture);
    node.init(this.context);
    return capture;
  }

  /** `topic key=value@timestamp`, key and value in hex. */
  takeSent(): string[] {
    const texts = this.sent.map(({ topic, key, value, timestamp }) => {
      const hex = (part: Buffer | null): string => part?.toString('hex') ?? 'null';
      return `${topic} ${hex(key)}=${hex(value)}@${String(timestamp)}`;
    });
    this.sent.length = 0;
    return texts;
  }
}

/** Of texts, numbers and windowed keys. */
function text(value: unknown): string {
  return value === null ? 'null' : (value as { toString(): string }).toString();
}

function bytes<T>(serde: RecordSerde<T>, value: T | null): Buffer | null {
  if (value === null) return null;
  for (let size = 1; ; size *= 2) {
    const target = Buffer.alloc(size);
    const end = serde.write(value, target, 0);
    if (end >= 0) return target.subarray(0, end);
  }
}
