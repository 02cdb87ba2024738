import { describe, expect, it } from 'vitest';
import { StreamsBuilder } from '../dsl/streams-builder.ts';
import { ProcessingError, TaskCorruptedError, TaskMigratedError, TimeoutError } from '../errors.ts';
import { TASK_RECOVERED_MIN_MS } from '../limits.ts';
import { serdes } from '../serdes/serdes.ts';
import { FakeClock } from '../testing-support/fake-clock.ts';
import { FakeCluster } from '../testing-support/fake-cluster.ts';
import { startHarness } from '../testing-support/harness.ts';
import { TaskFailures } from './task-failures.ts';

const TIMEOUT_MS = 10_000;
const strings = { key: serdes.string(), value: serdes.string() };

function setUp() {
  const clock = new FakeClock();
  const task = { hasCommitted: false, processedCount: 0, punctuatedCount: 0, position: 7n };
  const failures = new TaskFailures(clock, TIMEOUT_MS, () => task);
  const fail = (error: Error = new TimeoutError('slow')): string => failures.decide(error, '0_0');
  return { clock, task, failures, fail };
}

describe('TaskFailures', () => {
  it('lets a task that cannot be opened be begun anew until task.timeout.ms is over', async () => {
    const { clock, fail } = setUp();
    for (let ms = 0; ms <= TIMEOUT_MS; ms += 1_000) {
      expect(fail()).toBe('revive');
      await clock.advance(1_000);
    }
    expect(fail()).toBe('fail');
  });

  it('does not take running for progress when it fails on what it then does', async () => {
    const { clock, task, failures, fail } = setUp();
    for (let ms = 0; ms <= TIMEOUT_MS; ms += 1_000) {
      expect(fail(new TaskCorruptedError('again'))).toBe('revive');
      failures.runs('0_0');
      task.processedCount = 1;
      await clock.advance(1_000);
    }
    expect(fail()).toBe('fail');
  });

  it.each<[string, (setup: ReturnType<typeof setUp>) => Promise<void> | void]>([
    ['it has committed', ({ task }) => void (task.hasCommitted = true)],
    ['it has come further', ({ task }) => void (task.position += 1n)],
    ['it has run with nothing to do', ({ task }) => void (task.processedCount = 0)],
    [
      'it has run for long',
      ({ clock }) => clock.advance(Math.max(TIMEOUT_MS, TASK_RECOVERED_MIN_MS) + 1),
    ],
  ])('begins anew when %s', async (_, progress) => {
    const setup = setUp();
    const { clock, task, failures, fail } = setup;
    expect(fail()).toBe('revive');
    await clock.advance(TIMEOUT_MS);
    failures.runs('0_0');
    task.processedCount = 1;
    await progress(setup);
    await clock.advance(1_000);
    expect(fail()).toBe('revive');
    task.hasCommitted = false;
    await clock.advance(TIMEOUT_MS);
    expect(fail()).toBe('revive');
    await clock.advance(1);
    expect(fail()).toBe('fail');
  });

  it('waits longer each time, up to a second, and not at all once it is closed', async () => {
    const { clock, failures, fail } = setUp();
    for (const ms of [100, 200, 400, 800, 1_000, 1_000]) {
      fail();
      let isCalled = false;
      failures.later(() => (isCalled = true));
      await clock.advance(ms - 1);
      expect(isCalled).toBe(false);
      await clock.advance(1);
      expect(isCalled).toBe(true);
    }
    failures.later(() => {
      throw new Error('closed');
    });
    const paused = failures.pause();
    failures.close();
    await paused;
    expect(clock.timerCount).toBe(0);
  });

  it('gives tasks that moved away up, and fails with what no retry helps', () => {
    const { fail } = setUp();
    expect(fail(new TaskMigratedError('others have it'))).toBe('rejoin');
    expect(fail(new ProcessingError('no'))).toBe('fail');
    expect(fail(new Error('no'))).toBe('fail');
  });
});

describe('a record that fails each time with an error that could be tried again', () => {
  it.each(['at_least_once', 'exactly_once_v2'] as const)(
    'ends the client after task.timeout.ms, and is tried a few times a second at most: %s',
    async (guarantee) => {
      const cluster = new FakeCluster();
      cluster.createTopic('in', 1);
      let attempts = 0;
      const builder = new StreamsBuilder();
      builder.stream('in', strings).foreach(() => {
        attempts++;
        throw new TimeoutError('somebody else is slow');
      });
      const { streams, clock } = await startHarness({
        topology: builder.build(),
        cluster,
        config: { 'task.timeout.ms': TIMEOUT_MS, 'processing.guarantee': guarantee },
      });
      cluster.log('in').write([{ key: 'k', value: 'v' }]);
      cluster.changed('in');
      await clock.advance(TIMEOUT_MS - 1_000);
      expect(streams.state).toBe('RUNNING');
      await clock.advance(5_000);
      expect(streams.state).toBe('ERROR');
      expect(streams.failure).toBeInstanceOf(TimeoutError);
      expect(attempts).toBeGreaterThan(5);
      expect(attempts).toBeLessThan(20);
    },
  );
});
