import { filter, firstValueFrom, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import {
  ApplicationShutdownError,
  DeserializationError,
  InvalidTimestampError,
  MissingSourceTopicError,
} from '../errors.ts';
import { SHUTDOWN_LINGER_MS } from '../limits.ts';
import type { FixedKeyProcessorContext } from '../operators/processor-api.ts';
import type { TimestampExtractor } from '../operators/source-node.ts';
import { serdes } from '../serdes/serdes.ts';
import { keyValueStore } from '../state/store-builders.ts';
import type { KeyValueStore } from '../state/key-value-store.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import type { PlainRecord } from '../testing-support/fake-log.ts';
import { createHarness, startHarness, type Harness } from '../testing-support/harness.ts';
import { logAndSkipOnInvalidTimestamp } from '../topology/timestamp-extractors.ts';
import type { Topology } from '../topology/topology.ts';

const strings = { key: serdes.string(), value: serdes.string() };
const COMMIT_INTERVAL_MS = 30_000;

/** Orders joined with the customer that the value names. */
function joined(timestampExtractor?: TimestampExtractor): Topology {
  const builder = new StreamsBuilder();
  const extractor = timestampExtractor === undefined ? {} : { timestampExtractor };
  const options = { ...strings, store: 'customers', ...extractor };
  const customers = builder.globalTable('customers', options);
  builder
    .stream('orders', strings)
    .join(
      customers,
      (_key, customer) => customer,
      (order, name, key, mapped) => `${key}:${order}:${name}:${mapped}`,
    )
    .to('out', strings);
  return builder.build();
}

function newCluster(): FakeCluster {
  const cluster = new FakeCluster();
  cluster.createTopic('customers', 2);
  cluster.createTopic('orders', 1);
  cluster.createTopic('out', 1);
  return cluster;
}

function write(
  cluster: FakeCluster,
  topic: string,
  partition: number,
  ...records: PlainRecord[]
): void {
  cluster.log(topic, partition).write(records);
  cluster.changed(topic, partition);
}

function output(cluster: FakeCluster): (string | undefined)[] {
  return cluster
    .log('out')
    .records()
    .map(({ value }) => value?.toString());
}

async function committed({ clock }: Harness): Promise<void> {
  await clock.advance(COMMIT_INTERVAL_MS);
}

describe('global stores', () => {
  it('hold all partitions of their topic before the first record is processed', async () => {
    const cluster = newCluster();
    cluster.log('customers', 0).write([{ key: 'c1', value: 'Ann' }]);
    cluster.log('customers', 1).write([
      { key: 'c2', value: 'Bob' },
      { key: null, value: 'nobody' },
    ]);
    cluster.log('orders').write([
      { key: 'o1', value: 'c1' },
      { key: 'o2', value: 'c2' },
      { key: 'o3', value: 'c3' },
    ]);
    const harness = createHarness({ topology: joined(), cluster });
    const ends = firstValueFrom(
      harness.streams.restore$.pipe(
        filter(({ kind }) => kind === 'end'),
        toArray(),
      ),
    );
    await harness.streams.start();
    await harness.clock.advance(0);
    expect(harness.streams.state).toBe('RUNNING');
    await committed(harness);
    expect(output(cluster)).toEqual(['o1:c1:Ann:c1', 'o2:c2:Bob:c2']);
    expect(await harness.streams.close()).toBe(true);
    expect(await ends).toMatchObject([
      { storeName: 'customers', taskId: '-1_-1', topic: 'customers', endOffset: 1n },
      { storeName: 'customers', taskId: '-1_-1', topic: 'customers', restoredRecords: 2 },
    ]);
    // No changelog is made, and nothing of the global topic is committed.
    expect(cluster.topicConfigs.size).toBe(0);
    expect([...cluster.group('app').offsets.keys()]).toEqual(['orders-0']);
  });

  it('are kept up to date while tasks run', async () => {
    const cluster = newCluster();
    const harness = await startHarness({ topology: joined(), cluster });
    write(cluster, 'customers', 0, { key: 'c1', value: 'Ann' });
    await harness.clock.advance(10);
    write(cluster, 'orders', 0, { key: 'o1', value: 'c1' });
    await harness.clock.advance(10);
    write(cluster, 'customers', 0, { key: 'c1', value: null });
    await harness.clock.advance(10);
    write(cluster, 'orders', 0, { key: 'o2', value: 'c1' });
    await committed(harness);
    expect(output(cluster)).toEqual(['o1:c1:Ann:c1']);
    const applied = harness.streams
      .metrics()
      .find(({ name, tags }) => name === 'process-total' && /Global/.test(tags['thread-id'] ?? ''));
    expect(applied?.value()).toBe(2);
    await harness.streams.close();
  });

  it('need their topic: without it the client does not start', async () => {
    const cluster = new FakeCluster();
    cluster.createTopic('orders', 1);
    const { streams } = createHarness({ topology: joined(), cluster });
    await expect(streams.start()).rejects.toThrow(MissingSourceTopicError);
    expect(streams.state).toBe('ERROR');
    expect(streams.failure?.message).toContain('customers (for the global store customers)');
  });

  it('leave the word on bytes that cannot be read to the handler', async () => {
    const cluster = newCluster();
    const builder = new StreamsBuilder();
    builder.globalTable('customers', { key: serdes.string(), value: serdes.long(), store: 's' });
    const topology = builder.build();
    cluster.log('customers', 0).write([{ key: 'c1', value: 'no long' }]);
    const failing = createHarness({ topology, cluster });
    await expect(failing.streams.start()).rejects.toThrow(DeserializationError);
    expect(failing.streams.state).toBe('ERROR');
    const harness = await startHarness({
      topology,
      cluster,
      config: { 'deserialization.exception.handler': 'continue' },
    });
    expect(harness.streams.state).toBe('RUNNING');
    const dropped = harness.streams.metrics().find(({ name }) => name === 'dropped-records-total');
    expect(dropped?.value()).toBe(1);
    write(cluster, 'customers', 1, { key: 'c2', value: 'no long' });
    await harness.clock.advance(10);
    expect(dropped?.value()).toBe(2);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.streams.close();
  });

  it('skip, count and go on where the timestamp extractor says so', async () => {
    const cluster = newCluster();
    const builder = new StreamsBuilder();
    const table = builder.globalTable('customers', {
      ...strings,
      timestampExtractor: logAndSkipOnInvalidTimestamp,
    });
    builder
      .stream('orders', strings)
      .leftJoin(
        table,
        (key) => key,
        (order, name) => `${order}-${String(name)}`,
      )
      .to('out', strings);
    cluster.log('customers', 0).write([
      { key: 'a', value: '1', timestamp: 5 },
      { key: 'b', value: '2', timestamp: -1 },
      { key: 'c', value: '3', timestamp: 6 },
    ]);
    cluster.log('orders').write(['a', 'b', 'c'].map((key) => ({ key, value: key })));
    const harness = await startHarness({ topology: builder.build(), cluster });
    await committed(harness);
    expect(output(cluster)).toEqual(['a-1', 'b-null', 'c-3']);
    await harness.streams.close();
  });

  it('end the client if a record afterwards cannot be applied', async () => {
    const cluster = newCluster();
    const harness = await startHarness({ topology: joined(), cluster });
    write(cluster, 'customers', 0, { key: 'c1', value: 'Ann', timestamp: -1 });
    await harness.clock.advance(10);
    expect(harness.streams.state).toBe('ERROR');
    expect(harness.streams.failure).toBeInstanceOf(InvalidTimestampError);
  });

  it('end all instances if the uncaught exception handler says so, and nothing is joined with them meanwhile', async () => {
    const cluster = newCluster();
    const failing = await startHarness({
      topology: joined(),
      cluster,
      options: { uncaughtExceptionHandler: () => 'shutdown-application' },
    });
    const { clock } = failing;
    const other = await startHarness({
      topology: joined(logAndSkipOnInvalidTimestamp),
      cluster,
      clock,
    });
    await clock.advance(1_000);
    expect([failing.streams.state, other.streams.state]).toEqual(['RUNNING', 'RUNNING']);
    write(cluster, 'customers', 0, { key: 'c1', value: 'Ann', timestamp: -1 });
    await clock.advance(10);
    write(cluster, 'orders', 0, { key: 'o1', value: 'c1' });
    await clock.advance(SHUTDOWN_LINGER_MS);
    expect([failing.streams.state, other.streams.state]).toEqual(['ERROR', 'ERROR']);
    expect(failing.streams.failure).toBeInstanceOf(InvalidTimestampError);
    expect(other.streams.failure).toBeInstanceOf(ApplicationShutdownError);
    expect(output(cluster)).toEqual([]);
  });

  it('are filled anew, and then replaced as a whole, when the position is out of range', async () => {
    const cluster = newCluster();
    cluster.log('customers', 0).write([{ key: 'old', value: 'gone' }]);
    const harness = await startHarness({ topology: joined(), cluster });
    // Trimmed beyond what was read: the records in between are lost.
    cluster.log('customers', 0).write([{ key: 'old', value: null }]);
    cluster.log('customers', 0).deleteUpTo(2n);
    write(cluster, 'customers', 0, { key: 'new', value: 'Eve' });
    await harness.clock.advance(10);
    write(cluster, 'orders', 0, { key: 'o1', value: 'old' }, { key: 'o2', value: 'new' });
    await committed(harness);
    expect(output(cluster)).toEqual(['o2:new:Eve:new']);
    expect(harness.streams.state).toBe('RUNNING');
    await harness.streams.close();
  });

  it('are all that a topology may have', async () => {
    const cluster = newCluster();
    const builder = new StreamsBuilder();
    builder.globalTable('customers', strings);
    const harness = await startHarness({ topology: builder.build(), cluster });
    expect(harness.streams.state).toBe('RUNNING');
    expect(harness.client.members).toHaveLength(0);
    expect(await harness.streams.close()).toBe(true);
    expect(harness.streams.state).toBe('NOT_RUNNING');
  });

  it('do not hold up a close while they are restored', async () => {
    const cluster = newCluster();
    // The log promises a record that never comes.
    cluster.log('customers', 0).endOffset = 5n;
    const log = cluster.log('customers', 0);
    log.read = (offset) => ({ records: Buffer.alloc(0), nextOffset: offset });
    const harness = createHarness({ topology: joined(), cluster });
    const started = harness.streams.start();
    await harness.clock.advance(10);
    expect(harness.streams.state).toBe('REBALANCING');
    expect(await harness.streams.close()).toBe(true);
    await started;
    expect(harness.streams.state).toBe('NOT_RUNNING');
  });

  it('of a processor: it fills the store, asynchronously if need be, and other processors read it', async () => {
    const cluster = newCluster();
    const builder = new StreamsBuilder();
    builder.addGlobalStore(
      keyValueStore({ name: 'names', ...strings }),
      'customers',
      strings,
      () => {
        let store: KeyValueStore<string, string>;
        return {
          init(context) {
            store = context.getStateStore('names');
          },
          async process({ key, value, timestamp }) {
            await Promise.resolve();
            store.put(key, value.toUpperCase(), timestamp);
          },
        };
      },
    );
    const refusals: string[] = [];
    builder
      .stream('orders', strings)
      .processValues<string>(() => {
        let context: FixedKeyProcessorContext<string, string>;
        let store: KeyValueStore<string, string>;
        return {
          init(given) {
            context = given;
            store = context.getStateStore('names');
            try {
              store.put('x', 'y', 0);
            } catch (error) {
              refusals.push((error as Error).message);
            }
          },
          process: (record) => context.forward(record.withValue(store.get(record.value) ?? 'none')),
        };
      })
      .to('out', strings);
    const topology = builder.build();
    cluster.log('customers', 0).write([{ key: 'c1', value: 'Ann' }]);
    cluster.log('orders').write([
      { key: 'o1', value: 'c1' },
      { key: 'o2', value: 'c2' },
    ]);
    const harness = await startHarness({ topology, cluster });
    await committed(harness);
    expect(output(cluster)).toEqual(['ANN', 'none']);
    expect(refusals).toEqual([
      expect.stringContaining('global store names is filled from its topic only'),
    ]);
    expect(cluster.topicConfigs.size).toBe(0);
    await harness.streams.close();
  });
});
