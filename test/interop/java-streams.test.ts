/** Java's Kafka Streams 4.4, exactly once, over kills of the broker and of the application. */
import { join } from 'node:path';
import { ListTransactions } from '@millrace/protocol';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrokerProcess } from '../support/broker-process.ts';
import { missingForJava } from '../support/kafka/jars.ts';
import { RawClient } from '../support/raw-client.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type ByPartition, JavaClients, type JavaConsumer } from './java-clients.ts';

const DEADLINE = { timeout: 30_000, interval: 50 };
const LINES = 150;
const WORDS_PER_LINE = 6;
const WORDS = ['ab', 'cd', 'ef', 'gh', 'ij', 'kl', 'mn', 'op', 'qr', 'st', 'uv'];
const INPUT = 'lines';
const OUTPUT = 'counts';
const APPLICATION_ID = 'word-count';
const REPARTITION = `${APPLICATION_ID}-words-repartition`;

/** Lines whose words come up unevenly, and in another mixture each time. */
function linesOf(part: number): readonly string[] {
  return Array.from({ length: LINES }, (_, line) =>
    Array.from(
      { length: WORDS_PER_LINE },
      (_, word) => WORDS[(part + line * line + word * (line + part)) % WORDS.length],
    ).join(' '),
  );
}

const missing = missingForJava();

const title = 'Kafka Streams counts words exactly once';

describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  const root = temporaryDirectory();
  let broker: BrokerProcess;
  let clients: JavaClients;
  let application: JavaClients;
  let counts: JavaConsumer;
  /** What was sent, and what has come of it: all counts of a word, in order. */
  const words: string[] = [];
  const seen = new Map<string, number[]>();

  beforeAll(async () => {
    broker = await BrokerProcess.start({
      dataDir: join(root, 'data'),
      config: { 'group.min.session.timeout.ms': '1000' },
    });
    clients = new JavaClients(broker.bootstrapServers);
    await clients.admin('createTopic', { topic: INPUT, partitions: 2 });
    await clients.admin('createTopic', { topic: OUTPUT, partitions: 2 });
    counts = await clients.consumer({ 'isolation.level': 'read_committed' });
    await counts.assign(`${OUTPUT}-0`, `${OUTPUT}-1`);
  }, 120_000);

  afterAll(async () => {
    await application.close();
    await clients.close();
    await broker.close();
  }, 60_000);

  async function startApplication(): Promise<() => Promise<string>> {
    application = new JavaClients(broker.bootstrapServers);
    const streams = await application.wordCount(INPUT, OUTPUT, {
      'application.id': APPLICATION_ID,
      'processing.guarantee': 'exactly_once_v2',
      'state.dir': join(root, 'state'),
      'commit.interval.ms': '400',
      'repartition.purge.interval.ms': '100',
      'consumer.auto.offset.reset': 'earliest',
      'consumer.session.timeout.ms': '3000',
      'consumer.heartbeat.interval.ms': '300',
    });
    await expect.poll(() => streams.state(), DEADLINE).toBe('RUNNING');
    return () => streams.state();
  }

  async function send(part: number): Promise<void> {
    const lines = linesOf(part);
    words.push(...lines.flatMap((line) => line.split(' ')));
    const producer = await clients.producer();
    await producer.send(lines.map((value) => ({ topic: INPUT, value })));
    await producer.close();
  }

  /** Sends lines until some are counted but not committed; resolves then, with the rest of the sending. */
  async function sendUntilInTransaction(
    part: number,
  ): Promise<{ readonly sending: Promise<void> }> {
    const sending = send(part);
    const client = await RawClient.connect(broker.bootstrapServers);
    const openTransactions = async (): Promise<number> => {
      const filter = { stateFilters: ['Ongoing'], producerIdFilters: [] };
      return (await client.send(ListTransactions, 0, filter)).transactionStates.length;
    };
    await expect.poll(openTransactions, { ...DEADLINE, interval: 5 }).toBeGreaterThan(0);
    client.close();
    return { sending };
  }

  /** In committed records every word is counted up one by one, to as many as were sent. */
  async function expectExactCounts(): Promise<void> {
    const readSoFar = async (): Promise<number> => {
      for (const { key, value } of await counts.records(0)) {
        const word = key as string;
        seen.set(word, [...(seen.get(word) ?? []), Number(value)]);
      }
      return [...seen.values()].flat().length;
    };
    await expect.poll(readSoFar, DEADLINE).toBeGreaterThanOrEqual(words.length);
    for (const word of WORDS) {
      const count = words.filter((each) => each === word).length;
      expect([word, seen.get(word)]).toEqual([
        word,
        Array.from({ length: count }, (_, n) => n + 1),
      ]);
    }
  }

  it('counts, and purges its repartition topic', async () => {
    await startApplication();
    await send(0);
    await expectExactCounts();
    const partitions = [`${REPARTITION}-0`, `${REPARTITION}-1`];
    const leastStartOffset = async (): Promise<number> => {
      const offsets = await clients.admin<ByPartition<number>>('listOffsets', {
        of: 'earliest',
        partitions,
      });
      return Math.min(...Object.values(offsets));
    };
    await expect.poll(leastStartOffset, DEADLINE).toBeGreaterThan(0);
  }, 60_000);

  it('counts on when the broker was killed in the middle of a transaction', async () => {
    const { sending } = await sendUntilInTransaction(1);
    await broker.kill();
    await broker.restart();
    await sending;
    await send(2);
    await expectExactCounts();
  }, 60_000);

  it('counts on when the application was killed in the middle of a transaction', async () => {
    const { sending } = await sendUntilInTransaction(3);
    await application.kill();
    await sending;
    await send(4);
    const state = await startApplication();
    await expectExactCounts();
    expect(await state()).toBe('RUNNING');
    // The one thing that a broker has to say after kill -9.
    const said = broker.loudLines.filter(
      (line) => !line.includes('the end of a segment was damaged'),
    );
    expect(said).toEqual([]);
  }, 60_000);
});
