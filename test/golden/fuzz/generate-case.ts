import type { Config, Input } from '../case.ts';
import { addToStream } from './draft-streams.ts';
import { addToTable } from './draft-tables.ts';
import { Draft } from './draft.ts';
import type { OpenCase } from './java-streams.ts';
import { SeededRandom } from './random.ts';

const SEED_STRIDE = 1_000_003;
const KEYS = ['a', 'b', 'c', 'd'];

/** A random topology of the operators that exist, and a random script; the same for the same numbers. */
export function generateCase(seed: number, index: number): OpenCase {
  const random = new SeededRandom(seed * SEED_STRIDE + index);
  const draft = new Draft(random);
  const sourceCount = 1 + random.int(3);
  for (let i = 0; i < sourceCount; i++) addSource(draft, i === 0);
  const operationCount = 2 + random.int(6);
  for (let i = 0; i < operationCount; i++) addOperation(draft);
  addSinks(draft);
  return {
    name: `fuzz-${String(seed)}-${String(index)}`,
    config: {},
    variants: variants(random),
    topology: draft.operations,
    inputs: inputs(draft),
  };
}

function variants(random: SeededRandom): Config[] {
  const all: Config[] = [{}, { 'statestore.cache.max.bytes': 0 }];
  if (random.oneIn(3)) all.push({ 'dsl.store.suppliers.class': 'inMemory' });
  if (random.oneIn(3)) all.push({ 'topology.optimization': 'all' });
  if (random.oneIn(5)) all.push({ 'dsl.store.format': 'HEADERS' });
  if (random.oneIn(5)) all.push({ 'processing.exception.handler': 'continue' });
  return all;
}

function addSource(draft: Draft, isFirst: boolean): void {
  const { random, sources } = draft;
  const topic = `in-${String(sources.length)}`;
  sources.push(topic);
  switch (random.weighted({ stream: 5, table: 4, global: isFirst ? 0 : 1 })) {
    case 'stream':
      draft.streams.push(draft.add('stream', { topics: [topic], ...draft.named() }));
      return;
    case 'table': {
      if (random.oneIn(5)) {
        const versionedMs = random.pick([20, 100, 1000]);
        const materialized = { as: draft.newStore(), versionedMs };
        const table = draft.add('table', { topic, materialized });
        draft.tables.push(table);
        draft.versioned.add(table);
        return;
      }
      draft.tables.push(draft.add('table', { topic, ...draft.named(), ...draft.stored() }));
      return;
    }
    default:
      draft.globalTables.push(draft.add('globalTable', { topic, store: draft.newStore() }));
  }
}

function addOperation(draft: Draft): void {
  const { random, streams, tables } = draft;
  const onStream = tables.length === 0 || (streams.length > 0 && !random.oneIn(3));
  if (onStream) addToStream(draft, random.pick(streams));
  else addToTable(draft, random.pick(tables));
}

/** What nobody uses is written, and now and then what somebody does. */
function addSinks(draft: Draft): void {
  const { random } = draft;
  for (const table of draft.tables) {
    if (draft.isUsed(table) && !random.oneIn(4)) continue;
    draft.sink(draft.add('toStream', { of: table, ...draft.named() }));
  }
  for (const stream of draft.streams) {
    if (!draft.isUsed(stream) || random.oneIn(4)) draft.sink(stream);
  }
}

function inputs(draft: Draft): Input[] {
  const { random, sources } = draft;
  const count = 10 + random.int(16);
  const script: Input[] = [];
  let now = random.int(20);
  for (let i = 0; i < count; i++) {
    if (random.oneIn(15)) {
      script.push({ advanceWallClockMs: 1 + random.int(2000) });
      continue;
    }
    now += random.oneIn(10) ? 40 + random.int(60) : random.int(7);
    script.push({
      topic: random.pick(sources),
      key: random.oneIn(15) ? null : random.pick(KEYS),
      value: random.oneIn(7) ? null : valueText(random),
      timestamp: random.oneIn(4) ? Math.max(0, now - random.int(30)) : now,
      ...(random.oneIn(8) ? { headers: [['h', String(i)]] as const } : {}),
    });
  }
  return script;
}

function valueText(random: SeededRandom): string {
  const text = random.pick(KEYS);
  return random.oneIn(8) ? text : `${text}|${String(1 + random.int(5))}`;
}
