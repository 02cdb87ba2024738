import { STRINGS, type Draft } from './draft.ts';
import { adder, key, predicate, reducer, value } from './expressions.ts';

type Add = (draft: Draft, of: string) => void;

const weights = {
  filter: 3,
  mapValues: 3,
  transformValues: 1,
  toStream: 4,
  grouped: 4,
  join: 5,
  suppress: 2,
};

const adding: Readonly<Record<keyof typeof weights, Add>> = {
  filter(draft, of) {
    const { random } = draft;
    const op = random.pick(['filter', 'filterNot']);
    const more = { ...draft.named(), pred: predicate(random), ...draft.stored() };
    draft.tables.push(draft.add(op, { of, ...more }));
  },
  mapValues(draft, of) {
    const { random } = draft;
    const more = { ...draft.named(), value: value(random) };
    const stored = random.oneIn(2) ? draft.typed() : {};
    draft.tables.push(draft.add('mapValues', { of, ...more, ...stored }));
  },
  transformValues(draft, of) {
    const stored = draft.random.oneIn(2) ? draft.typed() : {};
    const more = { ...draft.named(), value: value(draft.random), ...stored };
    draft.tables.push(draft.add('transformValues', { of, ...more }));
  },
  toStream(draft, of) {
    draft.streams.push(draft.add('toStream', { of, ...draft.named() }));
  },
  grouped,
  join(draft, of) {
    const { random } = draft;
    const op = random.pick(['join', 'leftJoin', 'outerJoin']);
    const stored = random.oneIn(2) ? draft.typed() : {};
    const joiner = ['concat', '$l', '+', '$r'];
    const other = random.pick(draft.tables);
    draft.tables.push(draft.add(op, { of, with: other, joiner, ...draft.named(), ...stored }));
  },
  suppress(draft, of) {
    const { random } = draft;
    const more = {
      limitMs: random.pick([0, 7, 25]),
      ...(random.oneIn(3) ? { maxRecords: 2 } : {}),
      ...(random.oneIn(6) ? { maxBytes: 150 } : {}),
      ...draft.named(),
    };
    draft.tables.push(draft.add('suppress', { of, ...more }));
  },
};

/** One more operation on a table, and what belongs to it. */
export function addToTable(draft: Draft, of: string): void {
  adding[draft.random.weighted(weights)](draft, of);
}

function grouped(draft: Draft, of: string): void {
  const { random } = draft;
  const named = random.oneIn(4) ? { name: draft.newName() } : {};
  const group = draft.add('groupBy', { of, ...STRINGS, key: key(random), value: '$v', ...named });
  switch (random.pick(['count', 'reduce', 'aggregate'])) {
    case 'count': {
      const store = random.oneIn(2) ? { store: draft.newStore() } : {};
      const counted = draft.add('count', { of: group, ...store });
      draft.tables.push(draft.add('mapValues', { of: counted, value: ['concat', 'n', '$v'] }));
      return;
    }
    case 'reduce': {
      const subtractor = ['concat', '$agg', '-'];
      const more = { reducer: reducer(random), subtractor, ...draft.stored() };
      draft.tables.push(draft.add('reduce', { of: group, ...more }));
      return;
    }
    default: {
      const subtractor = ['concat', '$agg', '-', ['len', '$v']];
      const more = { init: '_', adder: adder(random), subtractor, ...draft.typed() };
      draft.tables.push(draft.add('aggregate', { of: group, ...more }));
    }
  }
}
