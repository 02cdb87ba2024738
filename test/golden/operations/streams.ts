import type { Json, JsonObject, Operation } from '../case.ts';
import { evaluate, text, typeOf, type Value } from '../expressions.ts';
import { grouping } from './groups.ts';
import {
  call,
  named,
  options,
  serdesAndName,
  type Interpretation,
  type Perform,
  type Result,
} from './interpretation.ts';
import { process, processValues } from './processors.ts';
import { materialized } from './stores.ts';

const stateless: Readonly<Record<string, Perform>> = {
  filter,
  filterNot: filter,
  map(on, n, from) {
    const mapper = on.user((k: unknown, v: unknown) => [
      evaluate(n['key'], { k, v }),
      evaluate(n['value'], { k, v }),
    ]);
    const ref = call(from.ref, 'map', mapper, named(n));
    return { kind: 'stream', ref, ...both(n, from) };
  },
  mapValues(on, n, from) {
    const mapper = on.user((v: unknown, k: unknown) => evaluate(n['value'], { k, v }));
    const ref = call(from.ref, 'mapValues', mapper, named(n));
    return { ...from, ref, value: both(n, from).value };
  },
  selectKey(on, n, from) {
    const ref = call(from.ref, 'selectKey', keyOf(on, n), named(n));
    return { ...from, ref, key: both(n, from).key };
  },
  flatMap(on, n, from) {
    const mapper = on.user((k: unknown, v: unknown) =>
      (evaluate(n['list'], { k, v }) as Value[]).map((e) => [
        evaluate(n['key'], { k, v, e }),
        evaluate(n['value'], { k, v, e }),
      ]),
    );
    const ref = call(from.ref, 'flatMap', mapper, named(n));
    return { kind: 'stream', ref, ...both(n, from) };
  },
  flatMapValues(on, n, from) {
    const list = on.user((v: unknown, k: unknown) => evaluate(n['list'], { k, v }));
    return { ...from, ref: call(from.ref, 'flatMapValues', list, named(n)), value: 'string' };
  },
  peek(on, n, from) {
    return { ...from, ref: call(from.ref, 'peek', noter(on, n), named(n)) };
  },
  foreach(on, n, from) {
    call(from.ref, 'foreach', noter(on, n), named(n));
    return null;
  },
  merge(on, n, from) {
    return { ...from, ref: call(from.ref, 'merge', on.result(n['with']).ref, named(n)) };
  },
  split(on, n, from) {
    split(on, n, from);
    return null;
  },
  to(on, n, from) {
    to(on, n, from);
    return null;
  },
};

const others: Readonly<Record<string, Perform>> = {
  repartition(_on, n, from) {
    const partitions = n['partitions'];
    const ref =
      n['bare'] === true
        ? call(from.ref, 'repartition')
        : call(from.ref, 'repartition', options({ ...serdesAndName(n), partitions }));
    return { ...from, ref };
  },
  toTable(_on, n, from) {
    const ref = call(from.ref, 'toTable', { ...named(n), ...materialized(n) });
    return { ...from, kind: 'table', ref };
  },
  groupByKey(_on, n, from) {
    return {
      ...from,
      kind: 'groupedStream',
      ref: call(from.ref, 'groupByKey', ...grouping(n)),
    };
  },
  groupBy(on, n, from) {
    const ref = call(from.ref, 'groupBy', keyOf(on, n), ...grouping(n));
    return { ...from, kind: 'groupedStream', ref, key: both(n, from).key };
  },
  process,
  processValues,
};

export const streamOperations: Readonly<Record<string, Perform>> = { ...stateless, ...others };

function filter(on: Interpretation, n: Operation, from: Result): Result {
  return { ...from, ref: call(from.ref, n.op, predicate(on, n['pred']), named(n)) };
}

function predicate(
  on: Interpretation,
  expression: Json | undefined,
): (k: unknown, v: unknown) => unknown {
  return on.user((k: unknown, v: unknown) => evaluate(expression, { k, v }) === true);
}

function keyOf(on: Interpretation, n: Operation): (k: unknown, v: unknown) => unknown {
  return on.user((k: unknown, v: unknown) => evaluate(n['key'], { k, v }));
}

function both(n: Operation, from: Result): { key: string; value: string } {
  const types = { k: from.key, v: from.value };
  return { key: typeOf(n['key'], types), value: typeOf(n['value'], types) };
}

function noter(on: Interpretation, n: Operation): (k: unknown, v: unknown) => unknown {
  const note = n['note'] ?? ['concat', '$k', '=', '$v'];
  return on.user((k: unknown, v: unknown) => {
    on.note(String(n.id ?? null), text(evaluate(note, { k, v })));
  });
}

/** Branches are named `id.0`, `id.1` .., `id.default` in a case. */
function split(on: Interpretation, n: Operation, from: Result): void {
  const id = n.id as string;
  let branched = call(from.ref, 'split', named(n));
  for (const [index, branch] of (n['branches'] as readonly JsonObject[]).entries()) {
    const take = taking(on, branch, `${id}.${String(index)}`, from);
    branched = call(branched, 'branch', predicate(on, branch['pred']), take);
  }
  const last = n['default'];
  const made =
    last === undefined
      ? call(branched, 'noDefaultBranch')
      : call(
          branched,
          'defaultBranch',
          taking(on, typeof last === 'object' ? (last as JsonObject) : {}, `${id}.default`, from),
        );
  const keys =
    made instanceof Map ? [...(made.keys() as Iterable<string>)] : Object.keys(made as object);
  on.branches.set(id, keys.sort());
}

function taking(on: Interpretation, branch: JsonObject, id: string, from: Result): object {
  const take = (ref: unknown): unknown => {
    on.put(id, { ...from, ref });
    return ref;
  };
  return options({
    name: branch['as'],
    use:
      branch['consumer'] === true
        ? (ref: unknown): void => {
            take(ref);
          }
        : take,
  });
}

interface Chosen {
  readonly topic: string | null;
  readonly timestamp: number;
  offset(): bigint;
}

function to(on: Interpretation, n: Operation, from: Result): void {
  const types = { key: n.keySerde ?? from.key, value: n.valueSerde ?? from.value };
  if (n['topic'] !== undefined) {
    on.outputTypes.set(n['topic'] as string, types);
    call(from.ref, 'to', n['topic'], serdesAndName(n));
    return;
  }
  on.dynamicTypes = types;
  const topicExpr = on.user((k: unknown, v: unknown, record: Chosen): unknown => {
    const { topic, timestamp: ts } = record;
    const offset = typeof record.offset === 'function' ? record.offset() : record.offset;
    return evaluate(n['topicExpr'], { k, v, ts, topic, offset: Number(offset) });
  });
  // A description names the function.
  Object.defineProperty(topicExpr, 'name', { value: 'topicExpr' });
  call(from.ref, 'to', topicExpr, serdesAndName(n));
}
