import { Windowed } from '@millrace/runtime';
import type { Json } from './case.ts';

/** What a user function of a case throws: Java's class, for comparison, with Java's message. */
export class GoldenFailure extends Error {
  readonly javaClass: string;

  constructor(javaClass: string, message: string) {
    super(message);
    // So that dead letters name it as Java does.
    this.name = javaClass;
    this.javaClass = javaClass;
  }
}

/** A value of the expression language; longs and ints are numbers. */
export type Value = null | boolean | number | string | Windowed<unknown> | readonly Value[];
export type Variables = Readonly<Record<string, unknown>>;

/** Evaluates a case's expression: `["fn", arg, ...]`, `"$variable"`, or a literal. */
export function evaluate(expression: Json | undefined, variables: Variables): Value {
  if (expression === undefined || expression === null) return null;
  if (typeof expression === 'boolean' || typeof expression === 'number') return expression;
  if (typeof expression === 'string') {
    if (!expression.startsWith('$')) return expression;
    const name = expression.slice(1);
    if (!(name in variables)) throw new Error(`no variable ${expression}`);
    return variables[name] as Value;
  }
  if (!Array.isArray(expression)) throw new Error(`bad expression ${JSON.stringify(expression)}`);
  const [fn, ...args] = expression as [string, ...Json[]];
  switch (fn) {
    case 'if':
      return evaluate(evaluate(args[0], variables) === true ? args[1] : args[2], variables);
    case 'and':
      return args.every((arg) => evaluate(arg, variables) === true);
    case 'or':
      return args.some((arg) => evaluate(arg, variables) === true);
    case 'coalesce':
      for (const arg of args) {
        const value = evaluate(arg, variables);
        if (value !== null) return value;
      }
      return null;
    default:
      return call(
        fn,
        args.map((arg) => evaluate(arg, variables)),
      );
  }
}

/** How a value shows in texts. */
export function text(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(text).join(', ')}]`;
  return String(value);
}

const falseOnNull = new Set(['lt', 'gt', 'contains', 'startsWith']);

function call(fn: string, args: readonly Value[]): Value {
  const x = args[0] ?? null;
  const y = args[1] ?? null;
  switch (fn) {
    case 'concat':
      return args.map(text).join('');
    case 'list':
      return args;
    case 'text':
      return text(x);
    case 'eq':
      return equal(x, y);
    case 'ne':
      return !equal(x, y);
    case 'isNull':
      return x === null;
    case 'not':
      return x !== true;
    case 'fail':
      throw new GoldenFailure('java.lang.IllegalStateException', text(x));
    case 'split':
      return x === null || text(x) === '' ? [] : text(x).split(',');
    default:
  }
  if (x === null) return falseOnNull.has(fn) ? false : null;
  switch (fn) {
    case 'upper':
      return text(x).toUpperCase();
    case 'lower':
      return text(x).toLowerCase();
    case 'reverse':
      return Array.from(text(x)).reverse().join('');
    case 'len':
      return text(x).length;
    case 'field': {
      const part = text(x).split('|')[y as number];
      return part === undefined || part === '' ? null : part;
    }
    case 'long':
    case 'int':
      return parseNumber(text(x));
    case 'wkey':
      return (x as Windowed<Value>).key;
    case 'wstart':
      return (x as Windowed<Value>).start;
    case 'wend':
      return (x as Windowed<Value>).end;
    default:
  }
  if (y === null) return falseOnNull.has(fn) ? false : fn === 'remove' ? x : null;
  switch (fn) {
    case 'add':
      return toNumber(x) + toNumber(y);
    case 'sub':
      return toNumber(x) - toNumber(y);
    case 'mul':
      return toNumber(x) * toNumber(y);
    case 'mod': {
      const modulus = toNumber(y);
      return ((toNumber(x) % modulus) + modulus) % modulus;
    }
    case 'lt':
      return compare(x, y) < 0;
    case 'gt':
      return compare(x, y) > 0;
    case 'contains':
      return text(x).includes(text(y));
    case 'startsWith':
      return text(x).startsWith(text(y));
    case 'remove':
      return text(x).includes(text(y)) ? text(x).replace(text(y), () => '') : x;
    default:
      throw new Error(`no function ${fn}`);
  }
}

function equal(x: Value, y: Value): boolean {
  if (x instanceof Windowed && y instanceof Windowed) {
    return x.start === y.start && x.end === y.end && equal(x.key as Value, y.key as Value);
  }
  return x === y;
}

function parseNumber(digits: string): number {
  if (!/^[+-]?\d+$/.test(digits)) {
    throw new GoldenFailure('java.lang.NumberFormatException', `For input string: "${digits}"`);
  }
  return Number(digits);
}

function toNumber(value: Value): number {
  return typeof value === 'number' ? value : parseNumber(text(value));
}

function compare(x: Value, y: Value): number {
  if (typeof x === 'number' || typeof y === 'number') return toNumber(x) - toNumber(y);
  const left = text(x);
  const right = text(y);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** What an expression yields; decides only how outputs are shown, never a serde. */
export function typeOf(
  expression: Json | undefined,
  types: Readonly<Record<string, string>>,
): string {
  if (expression === undefined || expression === null || typeof expression === 'boolean') {
    return 'string';
  }
  if (typeof expression === 'number') return 'long';
  if (typeof expression === 'string') {
    return expression.startsWith('$') ? (types[expression.slice(1)] ?? 'string') : 'string';
  }
  if (!Array.isArray(expression)) return 'string';
  const [fn, ...args] = expression as [string, ...Json[]];
  switch (fn) {
    case 'long':
    case 'add':
    case 'sub':
    case 'mul':
    case 'mod':
    case 'len':
    case 'wstart':
    case 'wend':
      return 'long';
    case 'int':
      return 'int';
    case 'if':
      return typeOf(args[1] === null ? args[2] : args[1], types);
    case 'coalesce':
      return typeOf(args[0], types);
    default:
      return 'string';
  }
}
