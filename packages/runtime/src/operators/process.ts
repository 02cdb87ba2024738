import type { RecordHeaders } from '@millrace/protocol';
import { isPromise } from './outcome.ts';
import type {
  FixedKeyProcessor,
  FixedKeyProcessorContext,
  Processor,
  ProcessorContext,
} from './processor-api.ts';
import { ProcessorNode, type Outcome } from './processor-node.ts';
import { ProcessorUsageError } from './processor-usage-error.ts';
import type { Punctuator } from './punctuation.ts';
import {
  FixedKeyRecord,
  fixedKeyRecord,
  headersOf,
  StreamRecord,
  validTimestamp,
  type RecordParts,
} from './stream-record.ts';
import type { TaskContext } from './task-context.ts';
import { UserContext, type StoreUser } from './user-context.ts';

type AnyProcessor = Processor<unknown, unknown> | FixedKeyProcessor<unknown, unknown>;
type AnyRecord = RecordParts<unknown, unknown> | FixedKeyRecord<unknown, unknown>;

/**
 * `process` and `processValues`. Puts every record, nulls included, to the user's processor, and
 * forwards nothing by itself: what goes on is what the processor forwards, with the key, value,
 * timestamp and headers given there, to all nodes below or to one by name. `processValues` forwards
 * records made of those that it was given, so keys stay. A negative timestamp is an error.
 * Punctuators may forward as well; the record then has no topic, partition or offset.
 */
export class ProcessOperator extends ProcessorNode implements StoreUser {
  readonly #processor: AnyProcessor;
  readonly #keepsKeys: boolean;
  recordTimestamp = -1;
  recordHeaders: RecordHeaders | null = null;
  #task: TaskContext | null = null;
  #stores: ReadonlySet<string> = new Set();
  /** While the processor or one of its punctuators may forward. */
  #isActive = false;
  /** What was forwarded and is not through yet; later calls of `forward` queue up behind it. */
  #pending: Promise<void> | null = null;

  constructor(name: string, processor: AnyProcessor, keepsKeys: boolean) {
    super(name);
    this.#processor = processor;
    this.#keepsKeys = keepsKeys;
  }

  /** Before `init`: the stores that the topology connects to this node. */
  connect(stores: ReadonlySet<string>): void {
    this.#stores = stores;
  }

  override init(context: TaskContext): void {
    this.#task = context;
  }

  override start(): Outcome {
    const task = this.#task as TaskContext;
    const context = new ForwardingContext(this, task, this.#stores, (record, childName) =>
      this.#forward(record, childName),
    );
    const result = (this.#processor as Processor<unknown, unknown>).init?.(context);
    return isPromise(result) ? Promise.resolve(result).then(nothing) : undefined;
  }

  override process(
    key: unknown,
    value: unknown,
    _old: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    this.#isActive = true;
    this.recordTimestamp = timestamp;
    this.recordHeaders = headers;
    let result: unknown;
    try {
      result = this.#keepsKeys
        ? (this.#processor as FixedKeyProcessor<unknown, unknown>).process(
            fixedKeyRecord(key, value, timestamp, headers),
          )
        : (this.#processor as Processor<unknown, unknown>).process(
            new StreamRecord(key, value, timestamp, headers),
          );
    } catch (error) {
      return this.#fail(error);
    }
    return this.#finish(result);
  }

  /** Calls a punctuator as if its time were the record's. */
  punctuate(punctuator: Punctuator, timestamp: number): Outcome {
    this.#isActive = true;
    this.recordTimestamp = timestamp;
    this.recordHeaders = null;
    let result: unknown;
    try {
      result = punctuator(timestamp);
    } catch (error) {
      return this.#fail(error);
    }
    return this.#finish(result);
  }

  override close(): Outcome {
    const result = this.#processor.close?.();
    return isPromise(result) ? Promise.resolve(result).then(nothing) : undefined;
  }

  /** Whether it has a record or a punctuation in hand. */
  get isActive(): boolean {
    return this.#isActive;
  }

  #finish(result: unknown): Outcome {
    if (isPromise(result) || this.#pending !== null) return this.#finishLater(result);
    this.#isActive = false;
    return undefined;
  }

  #fail(error: unknown): Outcome {
    if (this.#pending !== null) return this.#failLater(error as Error);
    this.#isActive = false;
    throw error;
  }

  /** Also what was forwarded without being waited for belongs to the record. */
  async #finishLater(result: unknown): Promise<void> {
    try {
      await result;
    } finally {
      try {
        // What the processor forwards while this waits is waited for, too.
        while (this.#pending !== null) await this.#pending;
      } finally {
        this.#pending = null;
        this.#isActive = false;
      }
    }
  }

  /** What was forwarded before the error is not cut off in the middle. */
  async #failLater(error: Error): Promise<void> {
    await this.#finishLater(undefined).catch(nothing);
    throw error;
  }

  #forward(record: AnyRecord, childName: string | undefined): Outcome {
    if (!this.#isActive) throw this.#notActive();
    if (this.#keepsKeys && !(record instanceof FixedKeyRecord)) throw this.#otherKey();
    const { key, value } = record;
    const timestamp = validTimestamp(record.timestamp);
    const headers = headersOf(record);
    const child = childName === undefined ? null : this.#child(childName);
    if (this.#pending !== null) {
      return this.#track(this.#passAfter(this.#pending, child, key, value, timestamp, headers));
    }
    const outcome = this.#pass(child, key, value, timestamp, headers);
    return outcome === undefined ? undefined : this.#track(outcome);
  }

  #pass(
    child: ProcessorNode | null,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Outcome {
    const k = key ?? null;
    const v = value ?? null;
    if (child === null) return this.children.forward(k, v, null, timestamp, headers);
    return child.entry.receive(k, v, null, timestamp, headers, true);
  }

  async #passAfter(
    pending: Promise<void>,
    child: ProcessorNode | null,
    key: unknown,
    value: unknown,
    timestamp: number,
    headers: RecordHeaders | null,
  ): Promise<void> {
    await pending;
    await this.#pass(child, key, value, timestamp, headers);
  }

  #track(outcome: Promise<void>): Promise<void> {
    const tracked = outcome.then(() => {
      if (this.#pending === tracked) this.#pending = null;
    });
    // `#finishLater` sees the failure; until it looks, nobody else has to.
    tracked.catch(nothing);
    this.#pending = tracked;
    return tracked;
  }

  #child(name: string): ProcessorNode {
    const child = this.children.named(name);
    if (child !== undefined) return child;
    const known = this.children.nodes.map((candidate) => candidate.name).join(', ') || 'none';
    throw new ProcessorUsageError(
      `The processor ${this.name} forwards to ${name}, which is no node below it. Below it are: ${known}.`,
      { context: { node: this.name, child: name } },
    );
  }

  #notActive(): ProcessorUsageError {
    return new ProcessorUsageError(
      `The processor ${this.name} forwards while it has neither a record nor a punctuation in hand. Call forward() ` +
        'from process() or a punctuator, before the promise that it returns resolves; from anywhere else there is ' +
        'no record that the call belongs to. Does the supplier return a new processor at each call?',
      { context: { node: this.name } },
    );
  }

  #otherKey(): ProcessorUsageError {
    return new ProcessorUsageError(
      `The processor ${this.name} of processValues() forwards a record of its own making: forward the record that ` +
        'it was given, or what its withValue(), withTimestamp() and withHeaders() return, or use process().',
      { context: { node: this.name } },
    );
  }
}

/** What the user's processor sees of its node and task. */
class ForwardingContext
  extends UserContext
  implements ProcessorContext<unknown, unknown>, FixedKeyProcessorContext<unknown, unknown>
{
  readonly #forward: (record: AnyRecord, childName: string | undefined) => Outcome;

  constructor(
    node: ProcessOperator,
    task: TaskContext,
    stores: ReadonlySet<string>,
    forward: (record: AnyRecord, childName: string | undefined) => Outcome,
  ) {
    super(node, task, stores);
    this.#forward = forward;
  }

  forward(record: AnyRecord, childName?: string): Outcome {
    return this.#forward(record, childName);
  }
}

function nothing(): void {
  // What it is made from has no result.
}
