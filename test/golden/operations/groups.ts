import { timeWindows } from '@millrace/runtime';
import type { JsonObject, Operation } from '../case.ts';
import { evaluate, typeOf } from '../expressions.ts';
import {
  call,
  named,
  options,
  serdesAndName,
  UnsupportedOperation,
  type Interpretation,
  type Perform,
  type Result,
} from './interpretation.ts';
import { materialized } from './stores.ts';

/** Arguments of a grouping: none, if the case gives neither name nor serdes. */
export function grouping(n: Operation): readonly object[] {
  const given = serdesAndName(n);
  return Object.keys(given).length === 0 ? [] : [given];
}

function table(from: Result, ref: unknown, value: string): Result {
  return { kind: 'table', ref, key: from.windowedKey ?? from.key, value };
}

type Combine = (...args: unknown[]) => unknown;

function combining(on: Interpretation, n: Operation, field: string): Combine {
  return on.user((agg: unknown, v: unknown) => evaluate(n[field], { agg, v }));
}

function adding(on: Interpretation, n: Operation, field: string): Combine {
  return on.user((k: unknown, v: unknown, agg: unknown) => evaluate(n[field], { k, v, agg }));
}

export const groupOperations: Readonly<Record<string, Perform>> = {
  count(_on, n, from) {
    const all = { ...named(n), ...materialized(n) };
    return table(from, call(from.ref, 'count', all), 'long');
  },
  reduce(on, n, from) {
    const functions = [combining(on, n, 'reducer')];
    if (from.kind === 'groupedTable') functions.push(combining(on, n, 'subtractor'));
    const all = { ...named(n), ...materialized(n) };
    return table(from, call(from.ref, 'reduce', ...functions, all), from.value);
  },
  aggregate(on, n, from) {
    const init = on.user(() => evaluate(n['init'], {}));
    const functions = [init, adding(on, n, 'adder')];
    if (from.kind === 'groupedTable') functions.push(adding(on, n, 'subtractor'));
    const all = { ...named(n), ...materialized(n) };
    const ref = call(from.ref, 'aggregate', ...functions, all);
    return table(from, ref, typeOf(n['init'], { k: from.key, v: from.value }));
  },
  windowedBy(_on, n, from) {
    if (n['emit'] === 'onWindowClose') throw new UnsupportedOperation('emit on window close');
    const window = n['window'] as JsonObject;
    if (window['type'] !== 'time') {
      throw new UnsupportedOperation(`windows of type ${window['type'] as string}`);
    }
    const size = window['sizeMs'] as number;
    const sizes = { size, advance: window['advanceMs'], grace: window['graceMs'] };
    const windows = timeWindows(options(sizes) as unknown as Parameters<typeof timeWindows>[0]);
    return {
      ...from,
      kind: 'windowedStream',
      ref: call(from.ref, 'windowedBy', windows),
      windowedKey: `timeWindowed:${String(size)}`,
    };
  },
};
