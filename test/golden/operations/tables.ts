import type { Operation } from '../case.ts';
import { evaluate, typeOf } from '../expressions.ts';
import { grouping } from './groups.ts';
import {
  call,
  exported,
  named,
  options,
  type Interpretation,
  type Perform,
  type Result,
} from './interpretation.ts';
import { transformValues } from './processors.ts';
import { materialized } from './stores.ts';

export const tableOperations: Readonly<Record<string, Perform>> = {
  filter,
  filterNot: filter,
  mapValues(on, n, from) {
    const mapper = on.user((v: unknown, k: unknown) => evaluate(n['value'], { k, v }));
    const ref = call(from.ref, 'mapValues', mapper, { ...named(n), ...materialized(n) });
    return { ...from, ref, value: typeOf(n['value'], { k: from.key, v: from.value }) };
  },
  transformValues,
  toStream(on, n, from) {
    if (n['key'] === undefined) {
      return { ...from, kind: 'stream', ref: call(from.ref, 'toStream', named(n)) };
    }
    const mapper = on.user((k: unknown, v: unknown) => evaluate(n['key'], { k, v }));
    const key = typeOf(n['key'], { k: from.key, v: from.value });
    return { ...from, kind: 'stream', ref: call(from.ref, 'toStream', mapper, named(n)), key };
  },
  groupBy(on, n, from) {
    const mapper = on.user((k: unknown, v: unknown) => [
      evaluate(n['key'], { k, v }),
      evaluate(n['value'], { k, v }),
    ]);
    const types = { k: from.key, v: from.value };
    return {
      kind: 'groupedTable',
      ref: call(from.ref, 'groupBy', mapper, ...grouping(n)),
      key: typeOf(n['key'], types),
      value: typeOf(n['value'], types),
    };
  },
  suppress(_on, n, from) {
    return { ...from, ref: call(from.ref, 'suppress', suppressed(n)) };
  },
};

function filter(on: Interpretation, n: Operation, from: Result): Result {
  const predicate = on.user((k: unknown, v: unknown) => evaluate(n['pred'], { k, v }) === true);
  return { ...from, ref: call(from.ref, n.op, predicate, { ...named(n), ...materialized(n) }) };
}

function suppressed(n: Operation): unknown {
  const buffer = options({
    name: n.name,
    maxRecords: n['maxRecords'],
    maxBytes: n['maxBytes'],
    whenFull: n['full'] === 'shutDown' ? 'shutDown' : undefined,
    logging: n['logging'],
  });
  if (n['limitMs'] === undefined) {
    return (exported('untilWindowCloses') as (o: object) => unknown)(buffer);
  }
  return (exported('untilTimeLimit') as (l: unknown, o: object) => unknown)(n['limitMs'], buffer);
}
