import type { JsonObject } from '../case.ts';
import { STRINGS, type Draft } from './draft.ts';
import { adder, key, list, predicate, reducer, value } from './expressions.ts';

type Add = (draft: Draft, of: string) => void;

const weights = {
  filter: 3,
  mapValues: 3,
  selectKey: 3,
  map: 2,
  flatMap: 1,
  flatMapValues: 2,
  peek: 1,
  merge: 2,
  split: 2,
  repartition: 2,
  toTable: 3,
  grouped: 5,
  windowed: 4,
  process: 3,
  processValues: 2,
  tableJoin: 4,
  globalJoin: 1,
  dynamicSink: 1,
};

const adding: Readonly<Record<keyof typeof weights, Add>> = {
  filter(draft, of) {
    const { random } = draft;
    const op = random.pick(['filter', 'filterNot']);
    draft.streams.push(draft.add(op, { of, ...draft.named(), pred: predicate(random) }));
  },
  mapValues(draft, of) {
    draft.streams.push(
      draft.add('mapValues', { of, ...draft.named(), value: value(draft.random) }),
    );
  },
  selectKey(draft, of) {
    draft.streams.push(draft.add('selectKey', { of, ...draft.named(), key: key(draft.random) }));
  },
  map(draft, of) {
    const { random } = draft;
    const both = { key: key(random), value: value(random) };
    draft.streams.push(draft.add('map', { of, ...draft.named(), ...both }));
  },
  flatMap(draft, of) {
    const both = { key: ['concat', '$k', '$e'], value: '$e' };
    draft.streams.push(
      draft.add('flatMap', { of, ...draft.named(), list: list(draft.random), ...both }),
    );
  },
  flatMapValues(draft, of) {
    draft.streams.push(
      draft.add('flatMapValues', { of, ...draft.named(), list: list(draft.random) }),
    );
  },
  peek(draft, of) {
    if (draft.random.oneIn(3)) draft.add('foreach', { of, ...draft.named() });
    else draft.streams.push(draft.add('peek', { of, ...draft.named() }));
  },
  merge(draft, of) {
    const other = draft.random.pick(draft.streams);
    draft.streams.push(draft.add('merge', { of, ...draft.named(), with: other }));
  },
  split(draft, of) {
    const { random } = draft;
    const branches = [{ pred: predicate(random) }, { pred: predicate(random), as: '-b' }];
    const taken = random.oneIn(2) ? branches : branches.slice(0, 1);
    const last = random.oneIn(3) ? {} : { default: true };
    const id = draft.add('split', { of, ...draft.named(), branches: taken, ...last });
    for (const index of taken.keys()) draft.streams.push(`${id}.${String(index)}`);
    if ('default' in last) draft.streams.push(`${id}.default`);
  },
  repartition(draft, of) {
    draft.streams.push(draft.add('repartition', { of, ...draft.named(), ...STRINGS }));
  },
  toTable(draft, of) {
    draft.tables.push(draft.add('toTable', { of, ...draft.named(), ...draft.stored() }));
  },
  grouped(draft, of) {
    draft.tables.push(aggregated(draft, group(draft, of)));
  },
  windowed,
  process,
  processValues,
  tableJoin,
  globalJoin(draft, of) {
    if (draft.globalTables.length === 0) return;
    const { random } = draft;
    const op = random.pick(['join', 'leftJoin']);
    const keyMapper = random.pick(['$k', ['field', '$v', 0]]);
    const joiner = ['concat', '$l', '+', '$r'];
    const other = random.pick(draft.globalTables);
    draft.streams.push(draft.add(op, { of, with: other, keyMapper, joiner, ...draft.named() }));
  },
  dynamicSink(draft, of) {
    const topicExpr = ['if', ['contains', '$v', '1'], 'ones', 'others'];
    draft.operations.push({ op: 'to', of, topicExpr, ...STRINGS });
  },
};

/** One more operation on a stream, and what belongs to it. */
export function addToStream(draft: Draft, of: string): void {
  adding[draft.random.weighted(weights)](draft, of);
}

function group(draft: Draft, of: string): string {
  const { random } = draft;
  const more = { ...STRINGS, ...(random.oneIn(4) ? { name: draft.newName() } : {}) };
  if (random.oneIn(2)) return draft.add('groupByKey', { of, ...more });
  return draft.add('groupBy', { of, key: key(random), ...more });
}

/** A table of texts: counts are turned into them. */
function aggregated(draft: Draft, of: string): string {
  const { random } = draft;
  switch (random.pick(['count', 'reduce', 'aggregate'])) {
    case 'count': {
      const counted = draft.add('count', { of, ...draft.named(), ...counts(draft) });
      return draft.add('mapValues', { of: counted, value: ['concat', 'n', '$v'] });
    }
    case 'reduce':
      return draft.add('reduce', { of, reducer: reducer(random), ...draft.stored() });
    default:
      return draft.add('aggregate', { of, init: '_', adder: adder(random), ...draft.typed() });
  }
}

/** Counts have a serde of their own, so a store in detail may not name another. */
function counts(draft: Draft): JsonObject {
  return draft.random.oneIn(2) ? { store: draft.newStore() } : {};
}

function windowed(draft: Draft, of: string): void {
  const { random } = draft;
  const size = random.pick([5, 10, 17]);
  const window = {
    type: 'time',
    sizeMs: size,
    ...(random.oneIn(2) ? { advanceMs: random.pick([3, 4, 5]) } : {}),
    ...(random.oneIn(3) ? {} : { graceMs: random.pick([0, 5, 30]) }),
  };
  const windows = draft.add('windowedBy', { of: group(draft, of), window });
  let table: string;
  switch (random.pick(['count', 'reduce', 'aggregate'])) {
    case 'count':
      table = draft.add('count', { of: windows, ...draft.named(), ...counts(draft) });
      break;
    case 'reduce':
      table = draft.add('reduce', { of: windows, reducer: reducer(random), ...draft.stored() });
      break;
    default:
      table = draft.add('aggregate', {
        of: windows,
        init: '_',
        adder: adder(random),
        ...draft.typed(),
      });
  }
  if (random.oneIn(3)) {
    const limit = random.oneIn(2) ? {} : { limitMs: random.pick([0, 5, 20]) };
    table = draft.add('suppress', { of: table, ...limit, ...draft.named() });
  }
  const out = draft.add('toStream', { of: table });
  if (random.oneIn(2)) draft.sink(out);
  const name = ['concat', ['wkey', '$k'], '@', ['wstart', '$k'], '-', ['wend', '$k']];
  draft.streams.push(draft.add('map', { of: out, key: name, value: ['text', '$v'] }));
}

function process(draft: Draft, of: string): void {
  const { random } = draft;
  const kind = random.pick(['pass', 'drop', 'dedupe', 'twice', 'map', 'meta', 'commit', 'tick']);
  const named = draft.named();
  switch (kind) {
    case 'dedupe': {
      const store = addStore(draft);
      draft.streams.push(draft.add('process', { of, ...named, kind, store }));
      return;
    }
    case 'map': {
      const changes = {
        ...(random.oneIn(2) ? { key: key(random) } : {}),
        ...(random.oneIn(2) ? { value: value(random) } : {}),
        ...(random.oneIn(2) ? { timestamp: ['add', '$ts', 7] } : {}),
        ...(random.oneIn(3) ? { addHeaders: [['made', '$k']] } : {}),
      };
      draft.streams.push(draft.add('process', { of, ...named, kind, ...changes }));
      return;
    }
    case 'tick': {
      const type = random.pick(['STREAM_TIME', 'WALL_CLOCK_TIME']);
      const punctuate = {
        type,
        everyMs: random.pick([5, 20, 500]),
        ...(random.oneIn(4) ? { cancelAfter: 2 } : {}),
        ...(random.oneIn(4) ? { startMs: random.pick([0, 30]) } : {}),
      };
      draft.streams.push(draft.add('process', { of, ...named, kind: 'pass', punctuate }));
      return;
    }
    default:
      draft.streams.push(draft.add('process', { of, ...named, kind }));
  }
}

function processValues(draft: Draft, of: string): void {
  const { random } = draft;
  const kind = random.pick(['pass', 'twice', 'map', 'meta', 'total']);
  const more: JsonObject =
    kind === 'total' ? { store: addStore(draft) } : kind === 'map' ? { value: value(random) } : {};
  if (kind === 'total') {
    // A store cannot be asked for a null key.
    const pred = ['not', ['isNull', '$k']];
    const keyed = draft.add('filter', { of, pred });
    draft.streams.push(draft.add('processValues', { of: keyed, ...draft.named(), kind, ...more }));
    return;
  }
  draft.streams.push(draft.add('processValues', { of, ...draft.named(), kind, ...more }));
}

function addStore(draft: Draft): string {
  const { random } = draft;
  const store = draft.newStore();
  draft.operations.push({
    op: 'addStateStore',
    store,
    ...(random.oneIn(3) ? { type: 'inMemory' } : {}),
    ...(random.oneIn(4) ? { logging: false } : {}),
  });
  return store;
}

function tableJoin(draft: Draft, of: string): void {
  if (draft.tables.length === 0) return;
  const { random } = draft;
  const table = random.pick(draft.tables);
  const op = random.pick(['join', 'leftJoin']);
  const grace =
    op === 'join' && draft.versioned.has(table) && random.oneIn(2)
      ? { graceMs: random.pick([0, 5, 20]) }
      : {};
  const joiner = ['concat', '$l', '+', '$r'];
  draft.streams.push(
    draft.add(op, { of, with: table, joiner, ...STRINGS, ...draft.named(), ...grace }),
  );
}
