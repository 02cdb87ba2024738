import type { StreamsBuilder } from '@millrace/runtime';
import * as millrace from '@millrace/runtime';
import type { Awaitable } from '@millrace/runtime';
import type { Operation } from '../case.ts';
import { serdeOf } from '../codec.ts';

/** Type names of keys and values; they decide how bytes are shown, never a serde. */
export interface Types {
  readonly key: string;
  readonly value: string;
}

type Kind =
  'stream' | 'table' | 'globalTable' | 'groupedStream' | 'groupedTable' | 'windowedStream';

/** What an id of a case stands for. */
export interface Result extends Types {
  readonly kind: Kind;
  readonly ref: unknown;
  /** Of windowed groups: how their results' keys are shown. */
  readonly windowedKey?: string;
}

/** An operation that the DSL has no word for. */
export class UnsupportedOperation extends Error {}

/** A case on its way to a topology: what its operations share. */
export interface Interpretation {
  readonly builder: StreamsBuilder;
  readonly defaults: Types;
  readonly inputTypes: Map<string, Types>;
  readonly outputTypes: Map<string, Types>;
  /** Keys of each split's branches, sorted. */
  readonly branches: Map<string, readonly string[]>;
  /** Of the topics that a topic name extractor chooses. */
  dynamicTypes: Types | null;
  result(id: unknown): Result;
  put(id: string, result: Result): void;
  /** Called for each peek and foreach. */
  note(id: string, note: string): void;
  /** A user function as it is, or made to answer later. */
  user<A extends readonly unknown[], R>(fn: (...args: A) => R): (...args: A) => Awaitable<R>;
}

/** How an operation of one family is performed; null if nothing comes out that others may name. */
export type Perform = (on: Interpretation, n: Operation, from: Result) => Result | null;

/** Calls a method by its name, as a case's operation is one: there is none if the DSL has not. */
export function call(on: unknown, method: string, ...args: readonly unknown[]): unknown {
  const fn = (on as Readonly<Record<string, unknown>>)[method];
  if (typeof fn !== 'function') throw new UnsupportedOperation(`no method ${method}`);
  return (fn as (...args: unknown[]) => unknown).apply(on, [...args]);
}

/** A function or object that `@millrace/runtime` exports. */
export function exported(name: string): unknown {
  const found = (millrace as Readonly<Record<string, unknown>>)[name];
  if (found === undefined) throw new UnsupportedOperation(`no export ${name}`);
  return found;
}

type Options = Readonly<Record<string, unknown>>;

/** Without the members that are undefined: an option not given is not there. */
export function options(all: Options): Options {
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function named(n: Operation): Options {
  return options({ name: n.name });
}

export function serdesAndName(n: Operation): Options {
  return options({ name: n.name, key: serdeOf(n.keySerde), value: serdeOf(n.valueSerde) });
}
