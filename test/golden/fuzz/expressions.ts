import type { Json } from '../case.ts';
import type { SeededRandom } from './random.ts';

// Keys are `a` to `d` or what these make of them; values are texts such as `b|3`, without numbers.
const predicates: readonly Json[] = [
  ['contains', '$v', '1'],
  ['ne', '$k', 'a'],
  ['gt', '$v', 'b'],
  ['not', ['isNull', '$v']],
  ['or', ['isNull', '$v'], ['lt', '$v', 'c|5']],
  ['and', ['startsWith', '$k', 'a'], ['contains', '$v', '|']],
  ['eq', ['field', '$v', 1], '2'],
];

const values: readonly Json[] = [
  ['upper', '$v'],
  ['concat', ['field', '$v', 0], '|', ['len', '$v']],
  ['if', ['contains', '$v', '3'], null, '$v'],
  ['coalesce', ['field', '$v', 1], 'none'],
  ['concat', '$k', '|', '$v'],
  ['reverse', '$v'],
  ['remove', '$v', '|'],
];

const keys: readonly Json[] = [
  ['field', '$v', 0],
  ['coalesce', ['field', '$v', 1], '$k'],
  ['concat', '$k', 'x'],
  'all',
  ['if', ['contains', '$v', '2'], null, '$k'],
];

const lists: readonly Json[] = [
  ['list', '$v', ['concat', '$v', '2']],
  ['split', '$v'],
  ['list', 'x|1', '$v', 'y'],
];

const reducers: readonly Json[] = [
  ['if', ['gt', '$v', '$agg'], '$v', '$agg'],
  ['concat', '$agg', ['len', '$v']],
  '$v',
  ['if', ['contains', '$v', '4'], null, ['concat', '$agg', '.']],
];

const adders: readonly Json[] = [
  ['concat', '$agg', ['coalesce', ['field', '$v', 1], '0']],
  ['concat', '$agg', '+', ['len', '$v']],
  ['if', ['contains', '$v', '5'], null, ['concat', '$agg', '$k']],
];

export const predicate = (random: SeededRandom): Json => random.pick(predicates);
export const value = (random: SeededRandom): Json => random.pick(values);
export const key = (random: SeededRandom): Json => random.pick(keys);
export const list = (random: SeededRandom): Json => random.pick(lists);
export const reducer = (random: SeededRandom): Json => random.pick(reducers);
export const adder = (random: SeededRandom): Json => random.pick(adders);
