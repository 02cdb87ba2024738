import { readFileSync } from 'node:fs';
import { RecordHeaders } from '@millrace/protocol';
import { afterEach, describe, expect, it } from 'vitest';
import { serdes } from '../serdes/serdes.ts';
import { Windowed } from '../serdes/windowed-key.ts';
import { isFlushedStore } from './cached-store.ts';
import type { SessionEntry, SessionStore } from './session-store.ts';
import type { StoreBuilder, StoreType } from './store.ts';
import { stores } from './stores.ts';
import { disposeBenches, StoreBench, type StoreSetup } from './testing-support/store-bench.ts';

type Store = SessionStore<string, string>;
type Session = [key: string, start: number, end: number, value: string, headers?: string[]];

/** A line of the file that fixtures/SessionStoreFixtures.java makes with Kafka Streams' own stores. */
interface Fixture {
  readonly type: 'inMemory' | 'persistent' | 'timeOrdered';
  readonly headers: boolean;
  readonly cached: boolean;
  readonly retentionMs: number;
  readonly dropped: number;
  readonly steps: readonly {
    readonly timestamp: number;
    readonly header: string | null;
    readonly commands: readonly Command[];
    readonly log: readonly (readonly [string, string | null, number, string[]])[];
  }[];
}

interface Command {
  readonly do: string;
  readonly key?: string;
  readonly last?: string;
  readonly from: number;
  readonly to: number;
  readonly value?: string;
  readonly answer?: readonly (Session | string | null)[];
  /** What Kafka's store threw instead: it has no such call, or fails on these bounds. */
  readonly error?: string;
}

afterEach(disposeBenches);

const path = new URL('fixtures/kafka-sessions.jsonl', import.meta.url);
const fixtures = readFileSync(path, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Fixture);

const NO_ANSWER = Symbol('no answer');

function ask(store: Store, { do: name, key, last, from, to }: Command): unknown {
  const only = key as string;
  const first = key ?? null;
  const end = last ?? null;
  switch (name) {
    case 'find':
      return list(store.findSessions(only, from, to));
    case 'backwardFind':
      return list(store.backwardFindSessions(only, from, to));
    case 'range':
      return list(store.findSessionsRange(first, end, from, to));
    case 'backwardRange':
      return list(store.backwardFindSessionsRange(first, end, from, to));
    case 'fetch':
      return list(store.fetch(only));
    case 'backwardFetch':
      return list(store.backwardFetch(only));
    case 'fetchRange':
      return list(store.fetchRange(first, end));
    case 'backwardFetchRange':
      return list(store.backwardFetchRange(first, end));
    case 'byEnd':
      return list(store.findSessionsByEnd(from, to));
    default:
      return NO_ANSWER;
  }
}

function list(entries: Iterable<SessionEntry<string, string>>): Session[] {
  return [...entries].map(({ key: { key, start, end }, value, headers }) =>
    headers === undefined
      ? [key, start, end, value]
      : [key, start, end, value, shownHeaders(headers)],
  );
}

function shownHeaders(headers: RecordHeaders | null): string[] {
  return [...(headers ?? [])].map(({ key, value }) => `${key}=${String(value)}`);
}

async function play(bench: StoreBench<Store>, fixture: Fixture): Promise<void> {
  const { store } = bench;
  for (const { timestamp, header, commands, log } of fixture.steps) {
    const headers = new RecordHeaders();
    if (header !== null) headers.add('h', header);
    for (const command of commands) {
      const { do: name, key = '', from, to, value, answer, error } = command;
      if (name === 'put') {
        store.put(new Windowed(key, from, to), value ?? null, timestamp, headers);
        expect([store.fetchSession(key, from, to)]).toEqual(answer);
      } else if (name === 'remove') {
        store.remove(new Windowed(key, from, to), timestamp, headers);
      } else if (error === undefined) {
        expect(ask(store, command), JSON.stringify(command)).toEqual(answer);
      }
    }
    // The test driver flushes after each record.
    if (isFlushedStore(store)) await store.flush();
    const logged = bench.task.sent.splice(0).map((sent) => {
      const hex = [sent.key, sent.value].map((bytes) => bytes?.toString('hex') ?? null);
      return [...hex, sent.timestamp, shownHeaders(sent.headers)];
    });
    expect(logged).toEqual(log);
  }
  expect(bench.task.dropped).toHaveLength(fixture.dropped);
}

function builder(
  { headers, cached, retentionMs }: Fixture,
  timeOrdered: boolean,
): StoreBuilder<Store> {
  const text = { name: 's', key: serdes.string(), value: serdes.string() };
  return stores.session({ ...text, retention: retentionMs, headers, caching: cached, timeOrdered });
}

const UNBOUNDED = 1_000_000_000;

describe.each(fixtures)(
  'session store as in Kafka Streams: $type, headers $headers, cached $cached',
  (fixture) => {
    const type: StoreType = fixture.type === 'inMemory' ? 'inMemory' : 'persistent';
    const memory: StoreSetup = { type, cacheBytes: fixture.cached ? UNBOUNDED : 0 };

    it('answers and writes its changelog alike in memory', async () => {
      await play(new StoreBench(builder(fixture, false), memory), fixture);
    });

    it.runIf(type === 'persistent').each([false, true])(
      'answers and writes its changelog alike on disk, time-ordered %s',
      async (timeOrdered) => {
        const setup = { ...memory, isOnDisk: true };
        await play(new StoreBench(builder(fixture, timeOrdered), setup), fixture);
      },
    );
  },
);

it('has sessions of each kind', () => {
  expect(fixtures.map(({ type }) => type)).toEqual([
    'inMemory',
    'inMemory',
    ...Array<string>(4).fill('persistent'),
    'timeOrdered',
  ]);
});
