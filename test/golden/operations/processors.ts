import { RecordHeaders } from '@millrace/protocol';
import type { Json, JsonObject, Operation } from '../case.ts';
import { evaluate, GoldenFailure, text, typeOf, type Variables } from '../expressions.ts';
import { call, named, options, type Interpretation, type Result } from './interpretation.ts';
import { materialized } from './stores.ts';

/** A record as processors see it, of both kinds. */
interface ProcessorRecord {
  readonly key: unknown;
  readonly value: unknown;
  readonly timestamp: number;
  readonly headers: RecordHeaders;
  /** Not with a fixed key. */
  withKey?(key: unknown): ProcessorRecord;
  withValue(value: unknown): ProcessorRecord;
  withTimestamp(timestamp: number): ProcessorRecord;
  withHeaders(headers: RecordHeaders): ProcessorRecord;
}

interface ProcessorStore {
  get(key: unknown): unknown;
  put(key: unknown, value: unknown, timestamp?: number): void;
  all(): Iterable<{ readonly key: unknown; readonly value: unknown }>;
}

/** What the cases ask of a processor's context. */
interface Context {
  readonly applicationId: string;
  readonly taskId: unknown;
  readonly recordMetadata: {
    readonly topic: string | null;
    readonly partition: number;
    readonly offset: bigint;
  } | null;
  currentStreamTimeMs(): number;
  currentSystemTimeMs(): number;
  getStateStore(name: string): ProcessorStore;
  commit(): void;
  forward(record: object, child?: string): PromiseLike<void> | undefined;
  schedule(
    interval: number,
    type: string,
    punctuator: (now: number) => unknown,
    options: object,
  ): { cancel(): void };
}

interface TransformerContext extends Context {
  readonly timestamp: number;
}

type Done = unknown;

export function process(on: Interpretation, n: Operation, from: Result): Result {
  const types = { k: from.key, v: from.value };
  const create = (): object => new FreeProcessor(on, n);
  const ref = call(from.ref, 'process', create, { ...named(n), ...stores(n) });
  const value = n['value'] !== undefined ? typeOf(n['value'], types) : from.value;
  return {
    kind: 'stream',
    ref,
    key: n['key'] === undefined ? from.key : typeOf(n['key'], types),
    value: n['value'] === undefined && n['kind'] === 'meta' ? 'string' : value,
  };
}

export function processValues(on: Interpretation, n: Operation, from: Result): Result {
  const create = (): object => new FixedKeyProcessor(on, n);
  const ref = call(from.ref, 'processValues', create, { ...named(n), ...stores(n) });
  const types = { k: from.key, v: from.value };
  return { ...from, ref, value: n['value'] === undefined ? 'string' : typeOf(n['value'], types) };
}

export function transformValues(on: Interpretation, n: Operation, from: Result): Result {
  const create = (): object => new Transformer(on, n);
  const all = {
    ...named(n),
    ...materialized({ ...n, store: undefined }),
    ...stores(n),
  };
  const ref = call(from.ref, 'transformValues', create, all);
  const types = { k: from.key, v: from.value, n: 'string' };
  return { ...from, ref, value: typeOf(n['value'], types) };
}

function stores(n: Operation): object {
  return options({ stores: n['store'] === undefined ? undefined : [n['store']] });
}

class FreeProcessor {
  readonly #on: Interpretation;
  readonly #n: Operation;
  #context: Context | null = null;
  #store: ProcessorStore | null = null;
  #timer: { cancel(): void } | null = null;
  #ticks = 0;
  readonly process: (record: ProcessorRecord) => Done;

  constructor(on: Interpretation, n: Operation) {
    this.#on = on;
    this.#n = n;
    this.process = on.user((record: ProcessorRecord) => this.#process(record));
  }

  init(context: Context): void {
    this.#context = context;
    if (this.#n['store'] !== undefined)
      this.#store = context.getStateStore(this.#n['store'] as string);
    const punctuate = this.#n['punctuate'] as JsonObject | undefined;
    if (punctuate === undefined) return;
    this.#timer = context.schedule(
      punctuate['everyMs'] as number,
      punctuate['type'] === 'STREAM_TIME' ? 'stream-time' : 'wall-clock-time',
      this.#on.user((now: number) => this.#tick(now, punctuate)),
      options({ startTime: punctuate['startMs'] }),
    );
  }

  #tick(now: number, punctuate: JsonObject): Done {
    const context = this.#context as Context;
    this.#ticks++;
    const { cancelAfter } = punctuate;
    if (cancelAfter !== undefined && this.#ticks >= (cancelAfter as number)) this.#timer?.cancel();
    if (punctuate['fail'] === true) throw illegalState(`punctuate ${String(now)}`);
    if (punctuate['do'] === 'flush') return this.#flush(now);
    const value = `n=${String(this.#ticks)} now=${String(now)} stream=${String(context.currentStreamTimeMs())}`;
    return context.forward({ key: 'tick', value, timestamp: now, headers: new RecordHeaders() });
  }

  #flush(now: number): Done {
    const store = this.#store as ProcessorStore;
    const entries = [...store.all()].map(({ key, value }) => ({ key, value }));
    return inOrder(
      entries.map(({ key, value }) => () => {
        const record = { key, value, timestamp: now, headers: new RecordHeaders() };
        const forwarded = (this.#context as Context).forward(record);
        const forget = (): void => {
          store.put(key, null, now);
        };
        if (forwarded !== undefined) return forwarded.then(forget);
        forget();
        return undefined;
      }),
    );
  }

  #process(record: ProcessorRecord): Done {
    const n = this.#n;
    const context = this.#context as Context;
    switch (n['kind']) {
      case 'pass':
        return context.forward(record);
      case 'drop':
        return undefined;
      case 'dedupe':
        return this.#dedupe(record);
      case 'put':
        this.#put(record);
        return undefined;
      case 'twice':
        return twice(context, record);
      case 'toChild': {
        const child = evaluate(n['child'], variables(record, context));
        return child === null ? context.forward(record) : context.forward(record, child as string);
      }
      case 'map':
        return context.forward(mapped(n, record, context));
      case 'meta':
        return context.forward(record.withValue(meta(context, record.timestamp)));
      case 'commit':
        context.commit();
        return context.forward(record);
      case 'fail':
        if (evaluate(n['when'], variables(record, context)) === true) {
          throw illegalState(`processor failed on ${text(record.value)}`);
        }
        return context.forward(record);
      default:
        throw new Error(`no processor ${n['kind'] as string}`);
    }
  }

  #dedupe(record: ProcessorRecord): Done {
    if (record.key === null) return undefined;
    const old = valueOf((this.#store as ProcessorStore).get(record.key));
    if (record.value !== null && record.value === old) return undefined;
    this.#put(record);
    return (this.#context as Context).forward(record);
  }

  #put(record: ProcessorRecord): void {
    (this.#store as ProcessorStore).put(record.key, record.value, record.timestamp);
  }
}

class FixedKeyProcessor {
  readonly #n: Operation;
  #context: Context | null = null;
  #store: ProcessorStore | null = null;
  readonly process: (record: ProcessorRecord) => Done;

  constructor(on: Interpretation, n: Operation) {
    this.#n = n;
    this.process = on.user((record: ProcessorRecord) => this.#process(record));
  }

  init(context: Context): void {
    this.#context = context;
    if (this.#n['store'] !== undefined)
      this.#store = context.getStateStore(this.#n['store'] as string);
  }

  #process(record: ProcessorRecord): Done {
    const n = this.#n;
    const context = this.#context as Context;
    switch (n['kind']) {
      case 'pass':
        return context.forward(record);
      case 'drop':
        return undefined;
      case 'twice':
        return twice(context, record);
      case 'map':
        return context.forward(mapped(n, record, context));
      case 'meta':
        return context.forward(record.withValue(meta(context, record.timestamp)));
      case 'total': {
        const store = this.#store as ProcessorStore;
        const old = valueOf(store.get(record.key));
        const total = text(old === null ? 1 : Number(old) + 1);
        store.put(record.key, total, record.timestamp);
        return context.forward(record.withValue(total));
      }
      default:
        throw new Error(`no processor ${n['kind'] as string}`);
    }
  }
}

/** `transformValues`: with a store, counts the calls of each key there, as `$n`. */
class Transformer {
  readonly #n: Operation;
  #context: TransformerContext | null = null;
  #store: ProcessorStore | null = null;
  readonly transform: (value: unknown, key: unknown) => Done;

  constructor(on: Interpretation, n: Operation) {
    this.#n = n;
    this.transform = on.user((v: unknown, k: unknown) => this.#transform(k, v));
  }

  init(context: TransformerContext): void {
    this.#context = context;
    if (this.#n['store'] !== undefined)
      this.#store = context.getStateStore(this.#n['store'] as string);
  }

  #transform(k: unknown, v: unknown): unknown {
    const store = this.#store;
    if (store === null) return evaluate(this.#n['value'], { k, v });
    const old = valueOf(store.get(k));
    const n = text(old === null ? 1 : Number(old) + 1);
    store.put(k, n, (this.#context as TransformerContext).timestamp);
    return evaluate(this.#n['value'], { k, v, n });
  }
}

function variables(record: ProcessorRecord, context: Context): Variables {
  const { key: k, value: v, timestamp: ts } = record;
  return { k, v, ts, streamTime: context.currentStreamTimeMs() };
}

/** On a copy of the headers. */
function mapped(n: Operation, record: ProcessorRecord, context: Context): ProcessorRecord {
  const on = variables(record, context);
  const headers = n['clearHeaders'] === true ? new RecordHeaders() : record.headers.copy();
  for (const [name, expression] of (n['addHeaders'] ?? []) as [string, Json][]) {
    const value = evaluate(expression, on);
    headers.add(name, value === null ? null : text(value));
  }
  let next = record.withHeaders(headers);
  if (n['key'] !== undefined) next = next.withKey?.(evaluate(n['key'], on)) ?? next;
  if (n['value'] !== undefined) next = next.withValue(evaluate(n['value'], on));
  if (n['timestamp'] !== undefined) {
    next = next.withTimestamp(evaluate(n['timestamp'], on) as number);
  }
  return next;
}

/** The record, then its value with a prime, a second later. */
function twice(context: Context, record: ProcessorRecord): Done {
  const again = record.withValue(`${text(record.value)}'`).withTimestamp(record.timestamp + 1000);
  return inOrder([() => context.forward(record), () => context.forward(again)]);
}

/** One after the other; without a promise among them nothing is asynchronous. */
function inOrder(steps: readonly (() => PromiseLike<unknown> | undefined)[]): Done {
  const [first, ...rest] = steps;
  if (first === undefined) return undefined;
  const outcome = first();
  if (outcome === undefined) return inOrder(rest);
  return outcome.then(() => inOrder(rest));
}

function meta(context: Context, timestamp: number): string {
  const from = context.recordMetadata;
  const where =
    from === null
      ? 'none'
      : `${String(from.topic)}-${String(from.partition)}@${String(from.offset)}`;
  const stream = String(context.currentStreamTimeMs());
  const wall = String(context.currentSystemTimeMs());
  return (
    `${where} ts=${String(timestamp)} stream=${stream} wall=${wall} ` +
    `task=${taskName(context.taskId)} app=${context.applicationId}`
  );
}

function taskName(id: unknown): string {
  if (typeof id === 'string') return id;
  const { subtopology, partition } = id as { subtopology: number; partition: number };
  return `${String(subtopology)}_${String(partition)}`;
}

/** Timestamped stores answer with value and timestamp, plain ones with the value. */
function valueOf(found: unknown): unknown {
  if (typeof found !== 'object' || found === null) return found ?? null;
  return 'value' in found ? found.value : found;
}

function illegalState(message: string): GoldenFailure {
  return new GoldenFailure('java.lang.IllegalStateException', message);
}
