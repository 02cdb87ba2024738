/**
 * The process dies in each of the disk operations of a transaction, one run per operation; what the next
 * process finds must be whole: everything of the transaction or nothing, never a part, and what was
 * acknowledged stays. The same with the machine losing power, under flush.messages=1.
 */
import { FakeClock, MemoryDisk } from '@millrace/compaction';
import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { TransactionFixture, type TestProducer } from './test-support/transaction-fixture.ts';

const GROUP = 'readers';
const ID = 'writer';
const TIMEOUT_MS = 60_000;
const partitions = [
  ['a', 0],
  ['a', 1],
  ['b', 0],
] as const;

interface Progress {
  /** The last step of the second transaction that was acknowledged. */
  acknowledged: 'nothing' | 'begun' | 'ended';
}

type Ending = 'commit' | 'abort' | 'fence' | 'timeout';

async function end(
  broker: TransactionFixture,
  producer: TestProducer,
  ending: Ending,
): Promise<string> {
  switch (ending) {
    case 'commit':
    case 'abort':
      return broker.end(producer, ending === 'commit');
    case 'fence': {
      const request = { transactionalId: ID, timeoutMs: TIMEOUT_MS, expected: null };
      const { errorCode } = await broker.transactions.initProducer(request);
      // The abort is decided; whoever asks again gets an epoch.
      return errorCode === errorCodes.CONCURRENT_TRANSACTIONS ? 'NONE' : 'not yet';
    }
    case 'timeout':
      broker.clock.advance(TIMEOUT_MS + 1);
      await broker.transactions.abortTimedOut();
      return broker.state(ID) === 'Ongoing' ? 'not yet' : 'NONE';
  }
}

async function transaction(
  broker: TransactionFixture,
  value: string,
  offset: bigint,
  ending: Ending,
  onBegun: () => void = () => undefined,
): Promise<string> {
  const producer = await broker.init(ID, TIMEOUT_MS);
  expect(await broker.add(producer, 'a', 0, 1)).toBe('NONE');
  expect(await broker.add(producer, 'b', 0)).toBe('NONE');
  for (const [topic, partition] of partitions) {
    expect(await broker.send(producer, topic, partition, value)).toBe('NONE');
  }
  expect(await broker.commitOffset(producer, GROUP, 'a', offset)).toBe('NONE');
  onBegun();
  return end(broker, producer, ending);
}

/** A committed transaction, and then a second one on a disk that may die under it. */
async function run(
  disk: MemoryDisk,
  clock: FakeClock,
  config: Record<string, number>,
  ending: Ending,
  prepare: (firstOperation: number) => void,
): Promise<Progress> {
  const broker = await TransactionFixture.open(disk, clock, config);
  await broker.createTopic('a', 2);
  await broker.createTopic('b');
  expect(await transaction(broker, 'first', 1n, 'commit')).toBe('NONE');
  // From here on everything of before is on the medium, whatever the configuration.
  for (const log of broker.logDir.logs()) await log.flush();
  const progress: Progress = { acknowledged: 'nothing' };
  prepare(disk.operationCount + 1);
  try {
    const error = await transaction(broker, 'second', 2n, ending, () => {
      progress.acknowledged = 'begun';
    });
    if (error === 'NONE') progress.acknowledged = 'ended';
  } catch {
    // The process is dead: whatever its remains say.
  }
  await broker.transactions.close();
  broker.groups.close();
  return progress;
}

/** Everything is there, or nothing of the second transaction; 'open' means that its timeout decides. */
function outcome(broker: TransactionFixture): 'committed' | 'aborted' | 'open' {
  const seen = partitions.map(([topic, partition]) => broker.committed(topic, partition));
  const open = partitions.map(([topic, partition]) => broker.hasOpenTransaction(topic, partition));
  const offset = broker.offset(GROUP, 'a');
  if (broker.state(ID) === 'Ongoing') {
    // Partitions without data yet have nothing open.
    expect(seen).toEqual([['first'], ['first'], ['first']]);
    expect(broker.offset(GROUP, 'a', false)).toBe(1n);
    return 'open';
  }
  expect(open).toEqual([false, false, false]);
  const isCommitted = seen[0]?.length === 2;
  expect(seen).toEqual(partitions.map(() => (isCommitted ? ['first', 'second'] : ['first'])));
  expect(offset).toBe(isCommitted ? 2n : 1n);
  return isCommitted ? 'committed' : 'aborted';
}

async function check(
  after: MemoryDisk,
  clock: FakeClock,
  config: Record<string, number>,
  ending: Ending,
  { acknowledged }: Progress,
): Promise<string> {
  const broker = await TransactionFixture.open(after, clock, config);
  try {
    const found = outcome(broker);
    if (acknowledged === 'ended') expect(found).toBe(ending === 'commit' ? 'committed' : 'aborted');
    if (ending !== 'commit') expect(found).not.toBe('committed');
    if (found === 'open') {
      // Not before its time, which may have come already, and then as a whole.
      if (ending !== 'timeout') {
        clock.advance(TIMEOUT_MS - 1);
        await broker.transactions.abortTimedOut();
      }
      expect(outcome(broker)).toBe('open');
      clock.advance(TIMEOUT_MS + 1);
      await broker.transactions.abortTimedOut();
      expect(outcome(broker)).toBe('aborted');
    }
    // And the id goes on.
    expect(await transaction(broker, 'third', 3n, 'commit')).toBe('NONE');
    for (const [topic, partition] of partitions) {
      expect(broker.committed(topic, partition).at(-1)).toBe('third');
    }
    expect(broker.offset(GROUP, 'a')).toBe(3n);
    return found;
  } finally {
    await broker.close();
  }
}

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe.each(['commit', 'abort', 'fence', 'timeout'] as const)(
  'a transaction that ends by %s',
  (ending) => {
    it('is whole after a kill in any of its operations', async () => {
      const whole = new MemoryDisk();
      let first = 0;
      const complete = await run(whole, new FakeClock(), {}, ending, (operation) => {
        first = operation;
      });
      expect(complete.acknowledged).toBe('ended');
      const last = whole.operationCount;
      // At least: three records of batches and offsets, five of the coordinator, four markers.
      expect(last - first).toBeGreaterThanOrEqual(11);
      const outcomes = new Set<string>();
      for (let operation = first; operation <= last + 1; operation++) {
        const disk = new MemoryDisk();
        const clock = new FakeClock();
        const progress = await run(disk, clock, {}, ending, (at) => {
          expect(at).toBe(first);
          disk.killAt(operation);
        });
        expect(disk.isKilled).toBe(operation <= last);
        try {
          outcomes.add(await check(disk.afterKill(), clock, {}, ending, progress));
        } catch (error) {
          throw new Error(`killed in operation ${operation} of ${first} to ${last}`, {
            cause: error,
          });
        }
      }
      expect([...outcomes].sort()).toEqual(
        ending === 'commit' ? ['aborted', 'committed', 'open'] : ['aborted', 'open'],
      );
    });
  },
);

describe.each(['commit', 'abort'] as const)('a transaction that ends by %s', (ending) => {
  it('is whole after a power loss in any of its operations, with flush.messages=1', async () => {
    const config = { 'log.flush.interval.messages': 1 };
    const whole = new MemoryDisk();
    let first = 0;
    await run(whole, new FakeClock(), config, ending, (operation) => {
      first = operation;
    });
    const last = whole.operationCount;
    for (let operation = first; operation <= last + 1; operation++) {
      const disk = new MemoryDisk();
      const clock = new FakeClock();
      const progress = await run(disk, clock, config, ending, () => {
        disk.killAt(operation);
      });
      for (let seed = 0; seed < 2; seed++) {
        const random = seeded(operation * 1000 + seed);
        const started = new FakeClock(clock.now());
        try {
          await check(disk.afterPowerLoss(random), started, config, ending, progress);
        } catch (error) {
          throw new Error(
            `power lost in operation ${operation} of ${first} to ${last}, seed ${seed}`,
            {
              cause: error,
            },
          );
        }
      }
    }
  });
});
