import { afterEach, describe, expect, it } from 'vitest';
import {
  CleanerThreadError,
  CleaningAbortedError,
  CleaningStateError,
  CorruptBatchError,
  StorageFullError,
} from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { batchOf, T0 } from '../../testing/batches.ts';
import { CleanerFixture, COMPACT, fillSegment, keepingLogger } from '../../testing/log-cleaner.ts';
import type { LoggedLine } from '../../testing/log-cleaner.ts';
import { configOf, ROOT } from '../../testing/memory-log-dir.ts';
import { CleanerManager } from './cleaner-manager.ts';

const BACKOFF_MS = 15_000;

interface Made extends Pick<CleanerFixture, 'dir' | 'clock' | 'disk'> {
  readonly fixture: CleanerFixture;
  readonly manager: CleanerManager;
  readonly lines: readonly LoggedLine[];
  readonly aborted: Log[];
}

const opened: CleanerFixture[] = [];

/** A manager whose cleaner does not run: the test cleans. */
async function make(fixture?: CleanerFixture): Promise<Made> {
  const made = fixture ?? (await CleanerFixture.open());
  opened.push(made);
  const { dir, clock, disk } = made;
  const { logger, lines } = keepingLogger();
  const aborted: Log[] = [];
  const manager = new CleanerManager({
    logDir: dir,
    clock,
    logger,
    backoffMs: () => BACKOFF_MS,
    abort: (log) => aborted.push(log),
  });
  return { fixture: made, dir, clock, disk, manager, lines, aborted };
}

afterEach(async () => {
  for (const fixture of opened.splice(0)) await fixture.cleaner.close();
});

const checkpointFile = ({ disk }: Made): string =>
  disk.readFile(`${ROOT}/cleaner-offset-checkpoint`).toString();

describe('the choice of a log', () => {
  it('grabFilthiestCompactedLog: is the one with the highest ratio', async () => {
    const { fixture, dir, manager } = await make();
    const [clean, dirty, half] = ['clean', 'dirty', 'half'].map((name) => fixture.log(name));
    for (const log of [clean, dirty, half] as Log[]) {
      fillSegment(log, 4);
      fillSegment(log, 4);
    }
    await dir.updateCleanerOffset(clean as Log, 8n);
    await dir.updateCleanerOffset(half as Log, 4n);
    const first = await manager.grab();
    expect(first?.log.topic).toBe('dirty');
    expect(first?.range).toMatchObject({ firstDirtyOffset: 0n, firstUncleanableOffset: 8n });
    expect(manager.figures.maxDirtyRatio).toBe(1);
    // In progress, it is left out; the next has the next highest.
    expect((await manager.grab())?.log.topic).toBe('half');
    expect(await manager.grab()).toBeNull();
  });

  it('has nothing to do with logs that are not compacted', async () => {
    const { fixture, manager } = await make();
    fillSegment(fixture.log('plain', { 'cleanup.policy': 'delete' }), 4);
    expect(await manager.grab()).toBeNull();
    fillSegment(fixture.log('both', { 'cleanup.policy': 'compact,delete' }), 4);
    expect((await manager.grab())?.log.topic).toBe('both');
  });

  it('of two choices at one time gives different logs', async () => {
    const { fixture, manager } = await make();
    for (const name of ['a', 'b']) fillSegment(fixture.log(name), 4);
    const grabbed = await Promise.all([manager.grab(), manager.grab(), manager.grab()]);
    expect(grabbed.map((one) => one?.log.topic ?? null).sort()).toEqual(['a', 'b', null]);
  });

  it('KAFKA-7215, 8725: a log that cannot be looked at is uncleanable, and the others go on', async () => {
    const config = { ...COMPACT, 'max.compaction.lag.ms': '1000' };
    const first = await CleanerFixture.open({ config });
    for (const name of ['bad', 'good']) fillSegment(first.log(name, config), 4);
    await first.dir.close();
    first.disk.contentOf(`${ROOT}/bad-0/00000000000000000000.log`).writeInt32BE(5, 8);
    const { manager, lines } = await make(await CleanerFixture.open({ disk: first.disk, config }));
    expect((await manager.grab())?.log.topic).toBe('good');
    const [[log, why] = []] = [...manager.uncleanable];
    expect(log?.topic).toBe('bad');
    expect(why?.code).toBe('LOG_CORRUPT_BATCH');
    expect(why?.reason).toContain('/data/bad-0/00000000000000000000.log at byte 0');
    expect(lines.map(({ level }) => level)).toEqual(['error']);
  });

  it('KAFKA-7321: takes a log whose max lag is over at any ratio, after the dirtier ones', async () => {
    const { fixture, dir, clock, manager } = await make();
    const lag = {
      ...COMPACT,
      'max.compaction.lag.ms': '60000',
      'min.cleanable.dirty.ratio': '0.9',
    };
    const due = fixture.log('due', lag);
    fillSegment(due, 20);
    fillSegment(due, 1);
    await dir.updateCleanerOffset(due, 20n);
    clock.setNow(T0 + 60_000);
    expect(await manager.grab()).toBeNull();
    clock.setNow(T0 + 60_001);
    fillSegment(fixture.log('dirty'), 4);
    expect((await manager.grab())?.log.topic).toBe('dirty');
    expect((await manager.grab())?.log.topic).toBe('due');
    expect(manager.figures.maxCompactionDelayMs).toBe(1);
  });

  it('undecidedTransactionalData: ends before an open transaction', async () => {
    const { fixture, manager } = await make();
    const log = fixture.log('t');
    fillSegment(log, 4);
    log.appendAsLeader(
      batchOf([{ key: 'k0', value: 'open' }], {
        producerId: 1n,
        producerEpoch: 0,
        baseSequence: 0,
        isTransactional: true,
      }),
    );
    log.roll();
    fillSegment(log, 4);
    expect((await manager.grab())?.range).toMatchObject({
      firstUncleanableOffset: 4n,
      heldBackBy: 'last-stable-offset',
    });
  });

  it('a message lag counts data records, also of segments that were not counted yet', async () => {
    const lag = { ...COMPACT, 'min.compaction.lag.messages': '6' };
    const first = await CleanerFixture.open({ config: lag });
    const log = first.log('t', lag);
    for (let segment = 0; segment < 3; segment++) fillSegment(log, 4);
    await first.dir.close();
    const again = await CleanerFixture.open({ disk: first.disk, config: lag });
    const { manager } = await make(again);
    expect((await manager.grab())?.range).toMatchObject({
      firstUncleanableOffset: 4n,
      heldBackBy: 'min.compaction.lag.messages',
    });
  });

  it('KAFKA-9133, 9826: finds nothing where start or checkpoint lie in the active segment', async () => {
    const both = { 'cleanup.policy': 'compact,delete', 'min.cleanable.dirty.ratio': '0' };
    const { fixture, dir, manager, lines } = await make();
    const log = fixture.log('t', both);
    fillSegment(log, 4);
    log.appendAsLeader(batchOf([{ value: 'a' }, { value: 'b' }]));
    await log.deleteRecords(5n);
    expect(await manager.grab()).toBeNull();
    await dir.updateCleanerOffset(log, 5n);
    expect(await manager.grab()).toBeNull();
    expect(lines).toEqual([]);
  });
});

describe('a checkpoint outside of its log', () => {
  it('KAFKA-1641, 1373, 6266: is repaired at once, also if the log is not cleaned', async () => {
    const made = await make();
    const { fixture, dir, manager, lines } = made;
    const log = fixture.log('t', { ...COMPACT, 'min.compaction.lag.ms': '1000000' });
    fillSegment(log, 4);
    await dir.updateCleanerOffset(log, 99n);
    fixture.clock.setNow(T0);
    expect(await manager.grab()).toBeNull();
    expect(dir.cleanerOffsets.get('t-0')).toBe(0n);
    expect(checkpointFile(made)).toBe('0\n1\nt 0 0\n');
    expect(lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'the cleaner checkpoint lay outside of the log: reset'],
    ]);
    await manager.grab();
    expect(lines).toHaveLength(1);
  });

  it('below the start of a log that is deleted from as well is routine', async () => {
    const { fixture, dir, manager, lines } = await make();
    const log = fixture.log('t', { 'cleanup.policy': 'compact,delete' });
    fillSegment(log, 4);
    fillSegment(log, 4);
    await dir.updateCleanerOffset(log, 2n);
    await log.deleteRecords(4n);
    expect((await manager.grab())?.range.firstDirtyOffset).toBe(4n);
    expect(dir.cleanerOffsets.get('t-0')).toBe(4n);
    expect(lines.map(({ level }) => level)).toEqual(['debug']);
  });

  it('KAFKA-3330: is lowered when recovery has cut the log, before anything is appended', async () => {
    const first = await CleanerFixture.open();
    const log = first.log('t');
    fillSegment(log, 4);
    fillSegment(log, 4);
    await log.flush();
    await first.dir.checkpoint();
    await first.dir.updateCleanerOffset(log, 8n);
    const disk = first.disk.afterKill();
    // The end is lost: the second segment has become the active one, and holds half of what it did.
    for (const kind of ['.log', '.index', '.timeindex']) {
      disk.unlink(`${ROOT}/t-0/00000000000000000008${kind}`);
    }
    disk.writeFile(`${ROOT}/recovery-point-offset-checkpoint`, Buffer.from('0\n1\nt 0 0\n'));
    const second = disk.open(`${ROOT}/t-0/00000000000000000004.log`, 'readWrite');
    second.truncate(Math.floor(second.sizeBytes() / 2) + 5);
    const again = await CleanerFixture.open({ disk });
    opened.push(first, again);
    const cut = again.dir.log('t', 0) as Log;
    expect([cut.logEndOffset, cut.segments.length]).toEqual([6n, 2]);
    expect(disk.readFile(`${ROOT}/cleaner-offset-checkpoint`).toString()).toBe('0\n1\nt 0 0\n');
    // Not behind the end, but behind what was cut.
    await again.dir.updateCleanerOffset(cut, 5n);
    const third = await CleanerFixture.open({ disk: disk.afterKill() });
    opened.push(third);
    expect(third.dir.cleanerOffsets.get('t-0')).toBe(4n);
  });

  it('KAFKA-1819: goes with its log', async () => {
    const made = await make();
    const { fixture, dir, manager } = made;
    const log = fixture.log('t');
    fillSegment(log, 4);
    await dir.updateCleanerOffset(log, 4n);
    await manager.withoutCleaning(log, () => dir.deleteLog('t', 0));
    expect(checkpointFile(made)).toBe('0\n0\n');
    const next = fixture.log('t');
    fillSegment(next, 4);
    expect((await manager.grab())?.range.firstDirtyOffset).toBe(0n);
  });
});

describe('a pass that has come to its end', () => {
  it('doneCleaning: moves the checkpoint, and the log may be grabbed again', async () => {
    const made = await make();
    const { fixture, dir, manager } = made;
    const log = fixture.log('t');
    fillSegment(log, 4);
    await manager.grab();
    expect(manager.stateOf(log)).toBe('inProgress');
    await manager.succeed(log, 4n);
    manager.leave(log);
    expect(manager.stateOf(log)).toBe('none');
    expect(dir.cleanerOffsets.get('t-0')).toBe(4n);
    expect(checkpointFile(made)).toBe('0\n1\nt 0 4\n');
    expect(() => {
      manager.leave(log);
    }).toThrow(CleaningStateError);
  });

  it('writes no checkpoint after somebody wanted it aborted', async () => {
    const { fixture, dir, manager, aborted } = await make();
    const log = fixture.log('t');
    fillSegment(log, 4);
    await manager.grab();
    let isCut = false;
    const cut = manager.withoutCleaning(log, () => {
      isCut = true;
    });
    expect(aborted).toEqual([log]);
    await manager.succeed(log, 4n);
    expect([manager.stateOf(log), isCut]).toEqual(['aborted', false]);
    manager.leave(log);
    await cut;
    expect([manager.stateOf(log), isCut]).toEqual(['none', true]);
    expect(dir.cleanerOffsets.has('t-0')).toBe(false);
  });

  it('concurrentLogCleanupAndLogTruncation: nothing begins while something is done to the log', async () => {
    const { fixture, manager } = await make();
    const log = fixture.log('t');
    fillSegment(log, 4);
    await expect(
      manager.withoutCleaning(log, async () => {
        expect(await manager.grab()).toBeNull();
        await manager.withoutCleaning(log, () => undefined);
        expect(await manager.grab()).toBeNull();
        throw new Error('what was done has failed');
      }),
    ).rejects.toThrow('what was done has failed');
    expect((await manager.grab())?.log).toBe(log);
  });
});

describe('a pass that has failed', () => {
  async function failed(error: Error): Promise<Made & { log: Log }> {
    const made = await make();
    const log = made.fixture.log('t');
    fillSegment(log, 4);
    await failPass(made, log, error);
    return { ...made, log };
  }

  async function failPass({ manager }: Made, log: Log, error: Error): Promise<void> {
    expect((await manager.grab())?.log).toBe(log);
    manager.fail(log, error);
    manager.leave(log);
  }

  const again = async ({ manager, clock }: Made): Promise<Log | undefined> => {
    clock.advance(BACKOFF_MS);
    return (await manager.grab())?.log;
  };

  it('on damage makes the partition uncleanable, which is told once', async () => {
    const made = await failed(new CorruptBatchError('/data/t-0/x.log at byte 7: rubbish'));
    const { manager, log, lines, clock } = made;
    expect(manager.uncleanable.get(log)).toEqual({
      code: 'LOG_CORRUPT_BATCH',
      reason: '/data/t-0/x.log at byte 7: rubbish',
      sinceMs: clock.now(),
    });
    expect(await again(made)).toBeUndefined();
    expect(lines.map(({ level }) => level)).toEqual(['error']);
  });

  it('KAFKA-19895: is tried again after a change of configuration', async () => {
    const made = await failed(new CorruptBatchError('rubbish'));
    await made.manager.configChanged(made.log);
    expect(made.manager.uncleanable.size).toBe(0);
    expect((await made.manager.grab())?.log).toBe(made.log);
  });

  it('on a full disk is tried again after the backoff, and told of once', async () => {
    const made = await failed(new StorageFullError('no space left to write x: free space'));
    expect(await made.manager.grab()).toBeNull();
    expect(await again(made)).toBe(made.log);
    made.manager.fail(made.log, new StorageFullError('no space left to write x: free space'));
    made.manager.leave(made.log);
    expect(made.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'no space left to clean a log: it is tried again'],
    ]);
    expect(await again(made)).toBe(made.log);
    await made.manager.succeed(made.log, 4n);
    made.manager.fail(made.log, new StorageFullError('no space left'));
    expect(made.lines.filter(({ level }) => level === 'warn')).toHaveLength(2);
  });

  it('because it was aborted is no failure', async () => {
    const made = await failed(new CleaningAbortedError('not wanted'));
    expect(made.lines.map(({ level }) => level)).toEqual(['debug']);
    expect(await again(made)).toBe(made.log);
  });

  it('with its thread is tried once more', async () => {
    const made = await failed(new CleanerThreadError('a cleaner thread died'));
    expect(made.manager.uncleanable.size).toBe(0);
    expect(await again(made)).toBe(made.log);
    made.manager.fail(made.log, new CleanerThreadError('a cleaner thread died'));
    made.manager.leave(made.log);
    expect(made.manager.uncleanable.get(made.log)?.code).toBe('LOG_CLEANER_THREAD_FAILED');
  });

  it('on a log that is gone meanwhile concerns nobody', async () => {
    const made = await make();
    const log = made.fixture.log('t');
    fillSegment(log, 4);
    await made.manager.grab();
    await made.dir.deleteLog('t', 0);
    made.manager.fail(log, new CorruptBatchError('rubbish'));
    made.manager.leave(log);
    expect([made.manager.uncleanable.size, made.lines.length]).toEqual([0, 0]);
  });
});

describe('a change of policy', () => {
  it('KAFKA-12840: away from compact aborts the pass and waits for its end', async () => {
    const { fixture, manager, aborted } = await make();
    const log = fixture.log('t');
    fillSegment(log, 4);
    await manager.grab();
    log.updateConfig(configOf({ 'cleanup.policy': 'delete' }));
    let isThrough = false;
    const change = manager.configChanged(log).then(() => {
      isThrough = true;
    });
    expect(aborted).toEqual([log]);
    await Promise.resolve();
    expect(isThrough).toBe(false);
    manager.leave(log);
    await change;
    expect(await manager.grab()).toBeNull();
  });

  it('to another compacted one leaves the pass alone', async () => {
    const { fixture, manager, aborted } = await make();
    const log = fixture.log('t');
    fillSegment(log, 4);
    await manager.grab();
    log.updateConfig(configOf({ 'cleanup.policy': 'compact,delete' }));
    await manager.configChanged(log);
    expect([aborted, manager.stateOf(log)]).toEqual([[], 'inProgress']);
  });
});

describe('retention of compacted logs', () => {
  const OLD = { 'retention.ms': '1000', 'min.cleanable.dirty.ratio': '1' };
  const bases = (log: Log): bigint[] => log.segments.map((one) => one.baseOffset);

  it('logsWithSegmentsToDelete: by age and size where policies have delete as well', async () => {
    const { fixture, manager, clock } = await make();
    const logs = ['compact', 'compact,delete', 'delete'].map((policy, index) =>
      fixture.log(`t${String(index)}`, { ...OLD, 'cleanup.policy': policy }),
    );
    for (const log of logs) fillSegment(log, 4);
    clock.setNow(T0 + 60_000);
    await manager.runRetention();
    expect(logs.map(bases)).toEqual([[0n, 4n], [4n], [0n, 4n]]);
  });

  it('KAFKA-7400: what lies below the log start goes also where only compact is said', async () => {
    const { fixture, manager } = await make();
    const log = fixture.log('t', { 'cleanup.policy': 'compact,delete' });
    fillSegment(log, 4);
    fillSegment(log, 4);
    await log.deleteRecords(6n);
    log.updateConfig(configOf(COMPACT));
    await manager.runRetention();
    expect(bases(log)).toEqual([4n, 8n]);
    expect(log.logStartOffset).toBe(6n);
  });

  it('KAFKA-7322, 7441: leaves a log with a pass under way, and one that is damaged', async () => {
    const { fixture, manager, clock } = await make();
    const log = fixture.log('t', { ...OLD, 'cleanup.policy': 'compact,delete' });
    fillSegment(log, 4);
    clock.setNow(T0 + 60_000);
    await manager.grab();
    await manager.runRetention();
    expect(bases(log)).toEqual([0n, 4n]);
    manager.fail(log, new CorruptBatchError('rubbish'));
    manager.leave(log);
    await manager.runRetention();
    expect(bases(log)).toEqual([0n, 4n]);
    await manager.configChanged(log);
    await manager.runRetention();
    expect(bases(log)).toEqual([4n]);
  });
});
