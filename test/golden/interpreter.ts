import {
  StreamsBuilder,
  timeWindows,
  type Awaitable,
  type KGroupedStream,
  type KStream,
  type KTable,
  type MaterializedOptions,
  type Serde,
  type TimeWindowedKStream,
  type Topology,
} from '@millrace/runtime';
import type { Config, JsonObject, Operation } from './case.ts';
import { serdeOf } from './codec.ts';
import { evaluate, text, typeOf, type Value } from './expressions.ts';

type AnyStream = KStream<unknown, unknown>;
type AnyTable = KTable<unknown, unknown>;
type AnyGroup = KGroupedStream<unknown, unknown>;
type AnyWindowed = TimeWindowedKStream<unknown, unknown>;

/** What an id stands for, with the type names of keys and values (for showing outputs only). */
type Result =
  | {
      readonly kind: 'stream';
      readonly ref: AnyStream;
      readonly key: string;
      readonly value: string;
    }
  | { readonly kind: 'table'; readonly ref: AnyTable; readonly key: string; readonly value: string }
  | { readonly kind: 'group'; readonly ref: AnyGroup; readonly key: string; readonly value: string }
  | {
      readonly kind: 'windowed';
      readonly ref: AnyWindowed;
      readonly key: string;
      readonly value: string;
      readonly windowedKey: string;
    };

export interface InterpreterOptions {
  /** Every user function returns a promise; nothing else may change. */
  readonly isAsynchronous: boolean;
  /** Called for each peek and foreach. */
  readonly note: (id: string, note: string) => void;
}

export interface Types {
  readonly key: string;
  readonly value: string;
}

/** An operation that the interpreter, or the DSL so far, has no word for. */
class UnsupportedOperation extends Error {}

/** Turns a case's list of DSL calls into a topology, through the public DSL. */
export class Interpreter {
  readonly inputTypes = new Map<string, Types>();
  readonly outputTypes = new Map<string, Types>();
  readonly #builder: StreamsBuilder;
  readonly #defaults: Types;
  readonly #options: InterpreterOptions;
  readonly #results = new Map<string, Result>();

  constructor(config: Config, options: InterpreterOptions) {
    const defaultKey = config['default.key.serde'];
    const defaultValue = config['default.value.serde'];
    const key = defaultKey === undefined ? 'string' : defaultKey;
    const value = defaultValue === undefined ? 'string' : defaultValue;
    const optimization = config['topology.optimization'];
    this.#builder = new StreamsBuilder({
      defaultKeySerde: serdeOf((key as string | null) ?? undefined),
      defaultValueSerde: serdeOf((value as string | null) ?? undefined),
      optimization: typeof optimization === 'string' ? optimization : undefined,
    });
    this.#defaults = { key: String(key ?? 'string'), value: String(value ?? 'string') };
    this.#options = options;
  }

  build(operations: readonly Operation[]): Topology {
    for (const operation of operations) this.#add(operation);
    return this.#builder.build();
  }

  #add(operation: Operation): void {
    const result = this.#perform(operation);
    if (result !== null && operation.id !== undefined) this.#results.set(operation.id, result);
  }

  #perform(n: Operation): Result | null {
    switch (n.op) {
      case 'stream':
      case 'table':
        return this.#source(n);
      case 'join':
      case 'leftJoin':
        return this.#join(n);
      default:
    }
    const from = this.#result(n.of);
    switch (from.kind) {
      case 'stream':
        return this.#stream(n, from);
      case 'table':
        return this.#table(n, from);
      case 'group':
        return n.op === 'windowedBy' ? this.#windowedBy(n, from) : this.#aggregation(n, from);
      case 'windowed':
        return this.#aggregation(n, from);
    }
  }

  #result(id: unknown): Result {
    const result = this.#results.get(String(id));
    if (result === undefined) throw new UnsupportedOperation(`no result ${String(id)}`);
    return result;
  }

  #source(n: Operation): Result {
    refuseFields(n, 'pattern', 'timestampExtractor');
    const key = n.keySerde ?? this.#defaults.key;
    const value = n.valueSerde ?? this.#defaults.value;
    const topics = (n['topics'] ?? (n['topic'] === undefined ? [] : [n['topic']])) as string[];
    for (const topic of topics) this.inputTypes.set(topic, { key, value });
    const options = {
      name: n.name,
      key: serdeOf(n.keySerde),
      value: serdeOf(n.valueSerde),
      offsetReset: n['reset'] as 'earliest' | 'latest' | undefined,
    };
    if (n.op === 'stream') {
      return { kind: 'stream', ref: this.#builder.stream(topics, options), key, value };
    }
    // As in Kafka Streams, the Consumed's serdes replace the Materialized's, unset ones included.
    const { store, logging } = materialized(n);
    const ref = this.#builder.table(topics[0] as string, { ...options, store, logging });
    return { kind: 'table', ref, key, value };
  }

  #stream(n: Operation, from: Result & { kind: 'stream' }): Result | null {
    const { ref } = from;
    const { name } = n;
    const types = { k: from.key, v: from.value };
    const predicate = this.#user(
      (k: unknown, v: unknown) => evaluate(n['pred'], { k, v }) === true,
    );
    const newKey = this.#user((k: unknown, v: unknown): unknown => evaluate(n['key'], { k, v }));
    const newValue = this.#user((v: unknown, k: unknown): unknown =>
      evaluate(n['value'], { k, v }),
    );
    const stream = (next: AnyStream, key = from.key, value = from.value): Result => ({
      kind: 'stream',
      ref: next,
      key,
      value,
    });
    switch (n.op) {
      case 'filter':
        return stream(ref.filter(predicate, { name }));
      case 'filterNot':
        return stream(ref.filterNot(predicate, { name }));
      case 'map': {
        const mapper = this.#user(
          (k: unknown, v: unknown) =>
            [
              evaluate(n['key'], { k, v }) as unknown,
              evaluate(n['value'], { k, v }) as unknown,
            ] as const,
        );
        const next = ref.map(mapper, { name });
        return stream(next, typeOf(n['key'], types), typeOf(n['value'], types));
      }
      case 'mapValues':
        return stream(ref.mapValues(newValue, { name }), from.key, typeOf(n['value'], types));
      case 'selectKey':
        return stream(ref.selectKey(newKey, { name }), typeOf(n['key'], types));
      case 'flatMap': {
        const mapper = this.#user((k: unknown, v: unknown) =>
          (evaluate(n['list'], { k, v }) as Value[]).map(
            (e) =>
              [
                evaluate(n['key'], { k, v, e }) as unknown,
                evaluate(n['value'], { k, v, e }) as unknown,
              ] as const,
          ),
        );
        const next = ref.flatMap(mapper, { name });
        return stream(next, typeOf(n['key'], types), typeOf(n['value'], types));
      }
      case 'flatMapValues': {
        const list = this.#user(
          (v: unknown, k: unknown): Iterable<unknown> => evaluate(n['list'], { k, v }) as Value[],
        );
        return stream(ref.flatMapValues(list, { name }), from.key, 'string');
      }
      case 'peek':
        return stream(ref.peek(this.#noter(n), { name }));
      case 'foreach':
        ref.foreach(this.#noter(n), { name });
        return null;
      case 'merge': {
        const other = this.#result(n['with']);
        if (other.kind !== 'stream') throw new UnsupportedOperation('merge with no stream');
        return stream(ref.merge(other.ref, { name }));
      }
      case 'groupByKey':
        return { ...from, kind: 'group', ref: ref.groupByKey(serdesAndName(n)) };
      case 'groupBy': {
        const group = ref.groupBy(newKey, serdesAndName(n));
        return { kind: 'group', ref: group, key: typeOf(n['key'], types), value: from.value };
      }
      case 'to': {
        refuseFields(n, 'topicExpr');
        const topic = n['topic'] as string;
        const key = n.keySerde ?? from.key;
        const value = n.valueSerde ?? from.value;
        this.outputTypes.set(topic, { key, value });
        ref.to(topic, serdesAndName(n));
        return null;
      }
      default:
        throw new UnsupportedOperation(`stream.${n.op}`);
    }
  }

  #table(n: Operation, from: Result & { kind: 'table' }): Result {
    if (n.op !== 'toStream') throw new UnsupportedOperation(`table.${n.op}`);
    const { name } = n;
    if (n['key'] === undefined)
      return { ...from, kind: 'stream', ref: from.ref.toStream({ name }) };
    const newKey = this.#user((k: unknown, v: unknown): unknown => evaluate(n['key'], { k, v }));
    const ref = from.ref.toStream(newKey, { name });
    const key = typeOf(n['key'], { k: from.key, v: from.value });
    return { kind: 'stream', ref, key, value: from.value };
  }

  #join(n: Operation): Result {
    const left = this.#result(n.of);
    const right = this.#result(n['with']);
    if (left.kind !== 'stream' || right.kind !== 'table' || n['graceMs'] !== undefined) {
      throw new UnsupportedOperation(`${n.op} of ${left.kind} with ${right.kind}`);
    }
    const joiner = this.#user((l: unknown, r: unknown, k: unknown): unknown =>
      evaluate(n['joiner'], { k, l, r }),
    );
    const options = serdesAndName(n);
    const ref =
      n.op === 'leftJoin'
        ? left.ref.leftJoin(right.ref, joiner, options)
        : left.ref.join(right.ref, joiner, options);
    const value = typeOf(n['joiner'], { l: left.value, r: right.value });
    return { kind: 'stream', ref, key: left.key, value };
  }

  #windowedBy(n: Operation, from: Result & { kind: 'group' }): Result {
    refuseFields(n, 'emit');
    const window = n['window'] as JsonObject;
    if (window['type'] !== 'time') {
      throw new UnsupportedOperation(`windows of type ${window['type'] as string}`);
    }
    const size = window['sizeMs'] as number;
    const ref = from.ref.windowedBy(
      timeWindows({
        size,
        ...(window['advanceMs'] === undefined ? {} : { advance: window['advanceMs'] as number }),
        ...(window['graceMs'] === undefined ? {} : { grace: window['graceMs'] as number }),
      }),
    );
    const windowedKey = `timeWindowed:${String(size)}`;
    return { kind: 'windowed', ref, key: from.key, value: from.value, windowedKey };
  }

  #aggregation(n: Operation, from: Result & { kind: 'group' | 'windowed' }): Result {
    const options = { ...materialized(n), name: n.name };
    const key = from.kind === 'windowed' ? from.windowedKey : from.key;
    const table = (ref: unknown, value: string): Result => ({
      kind: 'table',
      ref: ref as AnyTable,
      key,
      value,
    });
    switch (n.op) {
      case 'count':
        return table(from.ref.count(options as MaterializedOptions<unknown, number>), 'long');
      case 'reduce': {
        const reducer = this.#user((agg: unknown, v: unknown): unknown =>
          evaluate(n['reducer'], { agg, v }),
        );
        return table(from.ref.reduce(reducer, options), from.value);
      }
      case 'aggregate': {
        const init = this.#user((): unknown => evaluate(n['init'], {}));
        const adder = this.#user((k: unknown, v: unknown, agg: unknown): unknown =>
          evaluate(n['adder'], { k, v, agg }),
        );
        const value = typeOf(n['init'], { k: from.key, v: from.value });
        return table(from.ref.aggregate(init, adder, options), value);
      }
      default:
        throw new UnsupportedOperation(`${from.kind}.${n.op}`);
    }
  }

  #noter(n: Operation): (k: unknown, v: unknown) => Awaitable<void> {
    const note = n['note'] ?? ['concat', '$k', '=', '$v'];
    return this.#user((k: unknown, v: unknown) => {
      this.#options.note(String(n.id ?? null), text(evaluate(note, { k, v })));
    });
  }

  /** A user function: as it is, or made to answer later. */
  #user<A extends readonly unknown[], R>(fn: (...args: A) => R): (...args: A) => Awaitable<R> {
    if (!this.#options.isAsynchronous) return fn;
    return async (...args) => {
      await Promise.resolve();
      return fn(...args);
    };
  }
}

function serdesAndName(n: Operation): {
  readonly name: string | undefined;
  readonly key: Serde<unknown> | undefined;
  readonly value: Serde<unknown> | undefined;
} {
  return { name: n.name, key: serdeOf(n.keySerde), value: serdeOf(n.valueSerde) };
}

function materialized(n: Operation): MaterializedOptions<unknown, unknown> & {
  readonly retention?: number;
} {
  const m = n['materialized'] as JsonObject | undefined;
  if (m === undefined) return n['store'] === undefined ? {} : { store: n['store'] as string };
  refuseFields(m, 'versionedMs', 'lru', 'plainKeyValue', 'windowStore');
  return {
    store: m['as'] as string | undefined,
    key: serdeOf(m['keySerde'] as string | undefined),
    value: serdeOf(m['valueSerde'] as string | undefined),
    logging: m['logging'] as boolean | undefined,
    ...(m['retentionMs'] === undefined ? {} : { retention: m['retentionMs'] as number }),
  };
}

function refuseFields(object: JsonObject, ...fields: readonly string[]): void {
  for (const field of fields) {
    if (object[field] !== undefined) throw new UnsupportedOperation(field);
  }
}
