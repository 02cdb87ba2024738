import { StreamsBuilder, type Awaitable, type Topology } from '@millrace/runtime';
import type { Config, Operation } from './case.ts';
import { serdeOf } from './codec.ts';
import { groupOperations } from './operations/groups.ts';
import {
  UnsupportedOperation,
  type Interpretation,
  type Perform,
  type Result,
  type Types,
} from './operations/interpretation.ts';
import { join } from './operations/joins.ts';
import { source } from './operations/sources.ts';
import { addStateStore } from './operations/stores.ts';
import { streamOperations } from './operations/streams.ts';
import { tableOperations } from './operations/tables.ts';

export interface InterpreterOptions {
  /** Every user function returns a promise; nothing else may change. */
  readonly isAsynchronous: boolean;
  /** Called for each peek and foreach. */
  readonly note: (id: string, note: string) => void;
}

const byKind: Readonly<Record<Result['kind'], Readonly<Record<string, Perform>>>> = {
  stream: streamOperations,
  table: tableOperations,
  globalTable: {},
  groupedStream: groupOperations,
  groupedTable: groupOperations,
  windowedStream: groupOperations,
};

/** Turns a case's list of DSL calls into a topology, through the public DSL. */
export class Interpreter implements Interpretation {
  readonly builder: StreamsBuilder;
  readonly defaults: Types;
  readonly inputTypes = new Map<string, Types>();
  readonly outputTypes = new Map<string, Types>();
  readonly branches = new Map<string, readonly string[]>();
  dynamicTypes: Types | null = null;
  readonly #options: InterpreterOptions;
  readonly #explicitNames: boolean;
  readonly #results = new Map<string, Result>();

  constructor(config: Config, options: InterpreterOptions) {
    const key = orString(config['default.key.serde']);
    const value = orString(config['default.value.serde']);
    const optimization = config['topology.optimization'];
    this.builder = new StreamsBuilder({
      defaultKeySerde: serdeOf(key ?? undefined),
      defaultValueSerde: serdeOf(value ?? undefined),
      optimization: typeof optimization === 'string' ? optimization : undefined,
    });
    this.defaults = { key: key ?? 'string', value: value ?? 'string' };
    this.#options = options;
    this.#explicitNames = String(config['ensure.explicit.internal.resource.naming']) === 'true';
  }

  build(operations: readonly Operation[]): Topology {
    for (const operation of operations) {
      const result = this.#perform(operation);
      if (result !== null && operation.id !== undefined) this.put(operation.id, result);
    }
    const explicit = this.#explicitNames;
    return this.builder.build({ 'ensure.explicit.internal.resource.naming': explicit });
  }

  result(id: unknown): Result {
    const result = this.#results.get(String(id));
    if (result === undefined) throw new UnsupportedOperation(`no result ${String(id)}`);
    return result;
  }

  put(id: string, result: Result): void {
    this.#results.set(id, result);
  }

  note(id: string, note: string): void {
    this.#options.note(id, note);
  }

  user<A extends readonly unknown[], R>(fn: (...args: A) => R): (...args: A) => Awaitable<R> {
    if (!this.#options.isAsynchronous) return fn;
    return async (...args) => {
      await Promise.resolve();
      return fn(...args);
    };
  }

  #perform(n: Operation): Result | null {
    switch (n.op) {
      case 'stream':
      case 'table':
      case 'globalTable':
        return source(this, n);
      case 'addStateStore':
        return addStateStore(this, n);
      case 'join':
      case 'leftJoin':
      case 'outerJoin':
        return join(this, n);
      default:
    }
    const from = this.result(n.of);
    const perform = byKind[from.kind][n.op];
    if (perform === undefined) throw new UnsupportedOperation(`${from.kind}.${n.op}`);
    return perform(this, n, from);
  }
}

/** A default serde: text unless another one, or none (null), is configured. */
function orString(configured: Config[string] | undefined): string | null {
  if (configured === undefined) return 'string';
  return configured === null ? null : String(configured);
}
