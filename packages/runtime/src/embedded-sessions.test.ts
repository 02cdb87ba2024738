import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordHeaders } from '@millrace/protocol';
import type { EmbeddedBroker } from '@millrace/broker';
import { filter, firstValueFrom, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { kafkaJsClient } from './client/kafkajs/kafkajs-client.ts';
import type { StreamsClient } from './client/ports.ts';
import { StreamsBuilder } from './dsl/streams-builder.ts';
import { startBroker, startEmbedded, type EmbeddedApplication } from './embedded.ts';
import { silentLogger } from './logging/logger.ts';
import type { Processor, ProcessorContext } from './operators/processor-api.ts';
import type { StreamRecord } from './operators/stream-record.ts';
import { serdes } from './serdes/serdes.ts';
import { Windowed } from './serdes/windowed-key.ts';
import type { SessionStore } from './state/session-store.ts';
import { stores, type SessionStoreOptions } from './state/stores.ts';
import { TopologyTestDriver } from './testing/topology-test-driver.ts';
import { readTopic } from './topics/topic-reader.ts';
import { TopicWriter } from './topics/topic-writer.ts';
import type { Topology } from './topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const GAP_MS = 60_000;
const START = 1_700_000_040_000;

type Options = Partial<SessionStoreOptions<string, string>>;
const visits = (options: Options = {}) =>
  stores.session({ name: 'visits', ...strings, retention: '1h', ...options });

/** Joins each record's text to the session that it belongs to, and says what the session is now. */
class Sessions implements Processor<string, string, string, string> {
  #context: ProcessorContext<string, string> | null = null;
  #store: SessionStore<string, string> | null = null;

  init(context: ProcessorContext<string, string>): void {
    this.#context = context;
    this.#store = context.getStateStore(visits());
    expectTypeOf(context.getStateStore(visits())).toEqualTypeOf<SessionStore<string, string>>();
  }

  process(record: StreamRecord<string, string>): unknown {
    const { key, value, timestamp } = record;
    const store = this.#store as SessionStore<string, string>;
    let { start, end, text } = { start: timestamp, end: timestamp, text: '' };
    for (const found of [...store.findSessions(key, timestamp - GAP_MS, timestamp + GAP_MS)]) {
      start = Math.min(start, found.key.start);
      end = Math.max(end, found.key.end);
      text += found.value;
      store.remove(found.key);
    }
    text += value;
    store.put(new Windowed(key, start, end), text);
    if (value === 'wrong') store.put(new Windowed(key, 5, 4), text);
    return this.#context?.forward(record.withValue(`${text} ${String(end - start)}`));
  }
}

function topology(options: Options): Topology {
  const builder = new StreamsBuilder();
  builder
    .stream('in', strings)
    .process(() => new Sessions(), { stores: [visits(options)] })
    .to('out', strings);
  return builder.build();
}

describe('a processor with a session store', () => {
  it.each([{}, { caching: true }, { type: 'inMemory', headers: true }] satisfies Options[])(
    'is driven by the test driver, which shows the store: %j',
    async (options) => {
      const driver = new TopologyTestDriver(topology(options));
      const input = driver.createInputTopic('in', strings);
      await input.pipe('k', 'a', { timestamp: 0, headers: new RecordHeaders().add('h', 'x') });
      await input.pipe('k', 'b', { timestamp: 50_000, headers: new RecordHeaders().add('h', 'y') });
      await input.pipe('k', 'c', { timestamp: 200_000 });
      const sessions = driver.getSessionStore<string, string>('visits');
      const shown = [...sessions.fetch('k')].map(({ key, value, headers }) =>
        [
          key.start,
          key.end,
          value,
          ...[...(headers ?? [])].map((header) => String(header.value)),
        ].join(),
      );
      const header = options.headers === true ? ',y' : '';
      expect(shown).toEqual([`0,50000,ab${header}`, '200000,200000,c']);
      expect(sessions.fetchSession('k', 0, 50_000)).toBe('ab');
      const changelog = driver.createOutputTopic('test-visits-changelog', {
        key: serdes.sessionWindowed(serdes.string()),
        value: serdes.string(),
      });
      // What the processor writes has the record's timestamp, and its headers where the store keeps them.
      const records = changelog
        .readRecords()
        .map(({ key, value, timestamp }) => `${String(key)}=${String(value)}@${String(timestamp)}`);
      expect(records).toEqual([
        '[k@0/0]=a@0',
        '[k@0/0]=null@50000',
        '[k@0/50000]=ab@50000',
        '[k@200000/200000]=c@200000',
      ]);
      expect(() => driver.getWindowStore('visits')).toThrow('is no window store');
      await driver.close();
    },
  );

  it('is refused a session that cannot be', async () => {
    const driver = new TopologyTestDriver(topology({}));
    const input = driver.createInputTopic('in', strings);
    await expect(input.pipe('k', 'wrong', { timestamp: 0 })).rejects.toThrow(
      'The store visits was given a session from 5 to 4.',
    );
    await driver.close();
  });
});

describe('a persistent session store of an application', () => {
  const open: (() => Promise<unknown>)[] = [];
  let stateDir: string;

  beforeEach(() => {
    stateDir = mkdtempSync(join(tmpdir(), 'millrace-sessions-'));
  });

  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
    rmSync(stateDir, { recursive: true, force: true });
  });

  async function start(broker: EmbeddedBroker, options: Options): Promise<EmbeddedApplication> {
    const config = {
      'application.id': 'sessions-app',
      'commit.interval.ms': 100,
      'state.dir': stateDir,
      // Record time lies far back.
      'windowstore.changelog.additional.retention.ms': 10 * 365 * 86_400_000,
    };
    const application = await startEmbedded(topology(options), config, {
      broker,
      topics: { in: 1, out: 1 },
      streamsOptions: { logger: silentLogger() },
    });
    open.push(() => application.close({ timeoutMs: 5_000 }));
    return application;
  }

  async function write(client: StreamsClient, records: readonly [string, number][]): Promise<void> {
    const writer = await TopicWriter.open(client, { topic: 'in', ...strings });
    for (const [value, second] of records) {
      writer.send('k', value, { timestamp: START + second * 1_000 });
    }
    await writer.flush();
  }

  async function written(client: StreamsClient, count: number): Promise<string[]> {
    for (;;) {
      const found: string[] = [];
      for await (const records of readTopic<string, string>(client, { topic: 'out', ...strings })) {
        for (const record of records) found.push(String(record.value));
      }
      if (found.length >= count) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  it.each([false, true])(
    'goes on where it stopped, and is restored when its state was wiped; cached: %s',
    async (caching) => {
      const broker = await startBroker({ inProcess: true });
      const client = kafkaJsClient({
        clientId: 'test',
        logger: silentLogger(),
        config: { brokers: [broker.bootstrapServers] },
      });
      open.push(
        () => broker.close(),
        () => client.close(5_000),
      );
      const options: Options = { type: 'persistent', caching, headers: true, timeOrdered: true };
      const restoredBy = async ({ streams }: EmbeddedApplication): Promise<number> => {
        const ends = await firstValueFrom(
          streams.restore$.pipe(
            filter(({ kind }) => kind === 'end'),
            toArray(),
          ),
        );
        return ends.reduce((sum, { restoredRecords }) => sum + restoredRecords, 0);
      };
      const first = await start(broker, options);
      await write(client, [
        ['a', 0],
        ['b', 30],
        ['c', 300],
      ]);
      expect(await written(client, 3)).toEqual(['a 0', 'ab 30000', 'c 0']);
      expect(await first.close({ timeoutMs: 5_000 })).toBe(true);

      const second = await start(broker, options);
      const restoredSecond = restoredBy(second);
      await write(client, [['d', 80]]);
      expect((await written(client, 4)).at(-1)).toBe('abd 80000');
      expect(await second.close({ timeoutMs: 5_000 })).toBe(true);
      expect(await restoredSecond).toBe(0);

      for (const name of readdirSync(stateDir)) {
        rmSync(join(stateDir, name), { recursive: true, force: true });
      }
      const third = await start(broker, options);
      const restoredThird = restoredBy(third);
      await write(client, [
        ['e', 120],
        ['f', 301],
      ]);
      expect((await written(client, 6)).slice(4)).toEqual(['abde 120000', 'cf 1000']);
      expect(await third.close({ timeoutMs: 5_000 })).toBe(true);
      expect(await restoredThird).toBeGreaterThan(2);
    },
  );
});
