/**
 * What KIP-58 promises, with a real client (kafkajs): whoever is never further behind than the compaction lag
 * sees every record, and can put together the state at any moment; whoever comes later sees the last value of
 * every key. The consumer is away while records are written and cleaned, then goes on where it was.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import {
  type Admin,
  type Consumer,
  Kafka,
  type KafkaMessage,
  logLevel,
  type Producer,
} from 'kafkajs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unique } from '../support/brokers.ts';

const POLL = { timeout: 20_000, interval: 20 };
const ROUNDS = 5;
const KEYS = 7;
/** Every record is a batch of its own, of less than this. */
const RECORD_BYTES_MAX = 200;
const LAG_MS = 4_000;

let broker: EmbeddedBroker;
let admin: Admin;
let kafka: Kafka;
let producer: Producer;

beforeAll(async () => {
  broker = await startBroker({
    config: { 'log.cleaner.backoff.ms': '20', 'offsets.topic.num.partitions': '1' },
  });
  kafka = new Kafka({
    brokers: [broker.bootstrapServers],
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, retries: 10 },
  });
  admin = kafka.admin();
  producer = kafka.producer({ allowAutoTopicCreation: false });
  await Promise.all([admin.connect(), producer.connect()]);
});
afterAll(async () => {
  await Promise.all([admin.disconnect(), producer.disconnect()]);
  await broker.close();
});

async function compacted(configs: Record<string, string>): Promise<string> {
  const topic = unique('compacted');
  const all = {
    'cleanup.policy': 'compact',
    'internal.segment.bytes': '2000',
    'min.cleanable.dirty.ratio': '0',
    ...configs,
  };
  const configEntries = Object.entries(all).map(([name, value]) => ({ name, value }));
  await admin.createTopics({ topics: [{ topic, configEntries }], waitForLeaders: true });
  return topic;
}

/** Until the cleaner has nothing more to do on the topic. */
async function cleaned(topic: string): Promise<void> {
  await expect
    .poll(async () => {
      const { partitions } = await broker.cleanerStatus();
      const found = partitions.find((one) => one.topic === topic);
      return found?.state === 'none' && found.description?.isEligible === false;
    }, POLL)
    .toBe(true);
}

async function send(topic: string, key: string, value: string | null): Promise<number> {
  const [{ baseOffset } = {}] = await producer.send({ topic, messages: [{ key, value }] });
  return Number(baseOffset);
}

/** A consumer that goes on where its group has stopped, until `isDone`; then it is away again. */
async function read(
  topics: readonly string[],
  groupId: string,
  isDone: (topic: string, message: KafkaMessage) => boolean,
  seekTo: number | null = null,
): Promise<{ topic: string; message: KafkaMessage }[]> {
  const consumer: Consumer = kafka.consumer({ groupId, maxWaitTimeInMs: 100 });
  const found: { topic: string; message: KafkaMessage }[] = [];
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [...topics], fromBeginning: true });
    const done = new Promise<void>((resolve) => {
      void consumer.run({
        eachMessage: ({ topic, message }) => {
          found.push({ topic, message });
          if (isDone(topic, message)) resolve();
          return Promise.resolve();
        },
      });
    });
    if (seekTo !== null) {
      consumer.seek({ topic: topics[0] as string, partition: 0, offset: String(seekTo) });
    }
    await Promise.race([
      done,
      sleep(POLL.timeout, undefined, { ref: false }).then(() => {
        throw new Error(`${String(found.length)} records, and not what they should end with`);
      }),
    ]);
  } finally {
    await consumer.disconnect();
  }
  return found;
}

/** Writes a round of numbered records and lets the cleaner work; the number of the first one of the next round. */
async function writeRound(topic: string, from: number, count: number): Promise<number> {
  for (let i = from; i < from + count; i++) await send(topic, `key-${String(i % KEYS)}`, String(i));
  await cleaned(topic);
  return from + count;
}

async function follow(topic: string, count: number): Promise<number[]> {
  const groupId = unique('follower');
  const seen: number[] = [];
  let written = 0;
  for (let round = 0; round < ROUNDS; round++) {
    written = await writeRound(topic, written, count);
    const last = String(written - 1);
    const records = await read([topic], groupId, (_, { value }) => value?.toString() === last);
    seen.push(...records.map(({ message }) => Number(message.value)));
  }
  return seen;
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('a consumer that is never further behind than the lag', () => {
  it.each([
    ['min.compaction.lag.messages', 100, 100],
    ['min.compaction.lag.bytes', 100 * RECORD_BYTES_MAX, 100],
    ['min.compaction.lag.ms', LAG_MS, 60],
  ])('sees every record with %s', { timeout: 90_000 }, async (config, lag, count) => {
    const topic = await compacted({ [config]: String(lag) });
    const startedAt = performance.now();
    const seen = await follow(topic, count);
    // By time it is behind by one round at most, which must not have taken longer than the lag.
    expect((performance.now() - startedAt) / ROUNDS).toBeLessThan(LAG_MS);
    expect(seen).toEqual(numbers(ROUNDS * count));

    // It was the lag that has kept them: what lies further back is gone by now.
    if (config === 'min.compaction.lag.ms') await sleep(LAG_MS);
    await expect
      .poll(async () => {
        await cleaned(topic);
        const last = String(ROUNDS * count - 1);
        const isLast = (_: string, { value }: KafkaMessage) => value?.toString() === last;
        return (await read([topic], unique('late'), isLast)).length;
      }, POLL)
      .toBeLessThan((ROUNDS - 1) * count);
  });

  it('would miss some without a lag', async () => {
    const topic = await compacted({});
    const seen = await follow(topic, 100);
    expect(seen.length).toBeLessThan(ROUNDS * 100);
    expect(seen.at(-1)).toBe(ROUNDS * 100 - 1);
  });
});

describe('a consumer that comes later', () => {
  it('sees the last value of every key, and tombstones until their time is over', async () => {
    const topic = await compacted({});
    const expected = new Map<string, string | null>();
    for (let i = 0; i < 300; i++) {
      const key = `key-${String((i * 7) % 40)}`;
      const value = i % 9 === 0 ? null : String(i);
      await send(topic, key, value);
      expected.set(key, value);
    }
    await send(topic, 'end', 'end');
    await cleaned(topic);
    const records = await read([topic], unique('late'), (_, { key }) => key?.toString() === 'end');
    expect(records.length).toBeLessThan(150);
    const found = new Map(
      records.map(({ message: { key, value } }) => [String(key), value?.toString() ?? null]),
    );
    found.delete('end');
    expect(found).toEqual(expected);
  });

  it('goes on with the first record that is left when that at its offset is gone', async () => {
    const topic = await compacted({});
    await writeRound(topic, 0, 200);
    const isLast = (_: string, { value }: KafkaMessage) => value?.toString() === '199';
    const left = await read([topic], unique('late'), isLast);
    const offsets = left.map(({ message }) => Number(message.offset));
    const removed = numbers(200).filter((offset) => !offsets.includes(offset));
    expect(removed.length).toBeGreaterThan(100);
    for (const offset of [removed[0], removed[50], removed.at(-1)] as number[]) {
      const [first] = await read([topic], unique('seeker'), isLast, offset);
      expect(Number(first?.message.offset)).toBe(offsets.find((each) => each > offset));
    }
  });
});

describe('tables that are written together, with a checkpoint topic that holds their offsets', () => {
  /** States that a follower has put together at each checkpoint, and what they should be. */
  async function materialise(lag: Record<string, string>) {
    const tables = [await compacted(lag), await compacted(lag), await compacted(lag)];
    const checkpoints = await compacted(lag);
    const groupId = unique('follower');
    const model = new Map<string, string>();
    const expected = new Map<number, Map<string, string>>();
    const seen = new Map<number, Map<string, string>>();
    const states = tables.map(() => new Map<string, string>());
    const pending = tables.map(() => [] as KafkaMessage[]);
    let transaction = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < 30; i++, transaction++) {
        const ends: number[] = [];
        for (const [table, topic] of tables.entries()) {
          // Tables change at different keys and speeds; each transaction leaves its number in all of them.
          const key = String((transaction * (table + 1)) % (3 + table));
          ends.push((await send(topic, key, String(transaction))) + 1);
          model.set(`${String(table)}/${key}`, String(transaction));
        }
        await send(checkpoints, 'checkpoint', JSON.stringify({ transaction, ends }));
        expected.set(transaction, new Map(model));
      }
      for (const topic of [...tables, checkpoints]) await cleaned(topic);

      const last = transaction - 1;
      const ended = new Set<string>();
      const arrived: { transaction: number; ends: number[] }[] = [];
      const records = await read([...tables, checkpoints], groupId, (topic, { value }) => {
        const text = String(value);
        const number = topic === checkpoints ? transactionOf(text) : Number(text);
        if (number === last) ended.add(topic);
        return ended.size === tables.length + 1;
      });
      for (const { topic, message } of records) {
        const table = tables.indexOf(topic);
        if (table >= 0) pending[table]?.push(message);
        else arrived.push(JSON.parse(String(message.value)) as (typeof arrived)[number]);
      }
      for (const { transaction: at, ends } of arrived) {
        for (const [table, state] of states.entries()) {
          const waiting = pending[table] as KafkaMessage[];
          while (Number(waiting[0]?.offset ?? Infinity) < (ends[table] as number)) {
            const { key, value } = waiting.shift() as KafkaMessage;
            state.set(String(key), String(value));
          }
        }
        const whole = states.flatMap((state, table) =>
          [...state].map(([key, value]) => [`${String(table)}/${key}`, value] as const),
        );
        seen.set(at, new Map(whole));
      }
    }
    return { expected, seen };
  }

  function transactionOf(checkpoint: string): number {
    return (JSON.parse(checkpoint) as { transaction: number }).transaction;
  }

  it('can be put together as they were at each checkpoint, within the lag', async () => {
    const { expected, seen } = await materialise({ 'min.compaction.lag.messages': '30' });
    expect(seen.size).toBe(ROUNDS * 30);
    expect(seen).toEqual(expected);
  }, 60_000);

  it('cannot without a lag', async () => {
    const { expected, seen } = await materialise({});
    const wrong = [...seen].filter(
      ([transaction, state]) => !sameMaps(state, expected.get(transaction) as Map<string, string>),
    );
    expect(seen.size < expected.size || wrong.length > 0).toBe(true);
  }, 60_000);
});

function sameMaps(some: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): boolean {
  return some.size === others.size && [...some].every(([key, value]) => others.get(key) === value);
}
