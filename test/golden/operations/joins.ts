import type { Operation } from '../case.ts';
import { serdeOf } from '../codec.ts';
import { evaluate, typeOf } from '../expressions.ts';
import {
  call,
  named,
  options,
  serdesAndName,
  UnsupportedOperation,
  type Interpretation,
  type Result,
} from './interpretation.ts';
import { materialized } from './stores.ts';

/** The kind of join follows from what is joined with what. */
export function join(on: Interpretation, n: Operation): Result {
  const left = on.result(n.of);
  const right = on.result(n['with']);
  const value = typeOf(n['joiner'], { l: left.value, r: right.value });
  const result = { kind: left.kind, key: left.key, value };
  const joiner = on.user((l: unknown, r: unknown, k: unknown) =>
    evaluate(n['joiner'], { k, l, r }),
  );
  if (left.kind === 'stream' && right.kind === 'table') {
    const all = options({
      ...serdesAndName(n),
      otherValue: serdeOf(n['otherValueSerde'] as string | undefined),
      grace: n['graceMs'],
    });
    return { ...result, ref: call(left.ref, n.op, right.ref, joiner, all) };
  }
  if (left.kind === 'stream' && right.kind === 'globalTable') {
    const keyMapper = on.user((k: unknown, v: unknown) => evaluate(n['keyMapper'], { k, v }));
    return { ...result, ref: call(left.ref, n.op, right.ref, keyMapper, joiner, named(n)) };
  }
  if (left.kind === 'table' && right.kind === 'table' && n['foreignKey'] === undefined) {
    const tableJoiner = on.user((l: unknown, r: unknown) => evaluate(n['joiner'], { l, r }));
    const all = { ...named(n), ...materialized(n) };
    return { ...result, ref: call(left.ref, n.op, right.ref, tableJoiner, all) };
  }
  throw new UnsupportedOperation(`${n.op} of ${left.kind} with ${right.kind}`);
}
