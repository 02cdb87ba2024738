import { EventEmitter } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import type { CleaningTask } from '../cleaning-task.ts';
import { IoThrottle } from './io-throttle.ts';
import { WorkerThread } from './worker-thread.ts';

/** A worker that says nothing, and ends when the test wants it. */
const { SilentWorker } = vi.hoisted(() => {
  class SilentWorker {
    static readonly all: SilentWorker[] = [];
    readonly events: EventEmitter;
    readonly received: unknown[] = [];
    isTerminated = false;

    constructor() {
      this.events = SilentWorker.newEvents();
      SilentWorker.all.push(this);
    }

    static newEvents: () => EventEmitter;

    on(name: string, listener: (value: unknown) => void): void {
      this.events.on(name, listener);
    }

    unref(): void {
      this.isTerminated = false;
    }

    postMessage(message: unknown): void {
      this.received.push(message);
    }

    terminate(): Promise<void> {
      this.isTerminated = true;
      queueMicrotask(() => this.events.emit('exit', 1));
      return Promise.resolve();
    }
  }
  return { SilentWorker };
});
SilentWorker.newEvents = () => new EventEmitter();

vi.mock('node:worker_threads', () => ({ Worker: SilentWorker }));
vi.mock('../../platform/node-disk.ts', () => ({ nodeDisk: { stat: () => ({}) } }));

const task = { name: 't-0' } as CleaningTask;
const swap = (): Promise<void> => Promise.resolve();

function newThread(): WorkerThread {
  const throttle = new IoThrottle();
  return new WorkerThread({ mapBytes: 1 << 20, loadFactor: 0.9, bufferBytes: 4_096, throttle });
}

const lastWorker = (): InstanceType<typeof SilentWorker> =>
  SilentWorker.all.at(-1) as InstanceType<typeof SilentWorker>;

describe('a worker that dies', () => {
  it('fails its pass with the reason, and the next pass gets another', async () => {
    const thread = newThread();
    const first = thread.run(task, swap);
    lastWorker().events.emit('error', new Error('out of memory'));
    lastWorker().events.emit('exit', 1);
    await expect(first).rejects.toMatchObject({
      code: 'LOG_CLEANER_THREAD_FAILED',
      message: 'a cleaner thread died: out of memory',
    });
    const count = SilentWorker.all.length;
    const second = thread.run(task, swap);
    expect(SilentWorker.all.length).toBe(count + 1);
    lastWorker().events.emit('exit', 0);
    await expect(second).rejects.toThrow('a cleaner thread died: it ended by itself');
    await thread.close();
  });

  it('without a pass is forgotten', async () => {
    const thread = newThread();
    const run = thread.run(task, swap);
    lastWorker().events.emit('message', { type: 'done', report: { nextFirstDirtyOffset: 1n } });
    await expect(run).resolves.toEqual({ nextFirstDirtyOffset: 1n });
    const count = SilentWorker.all.length;
    lastWorker().events.emit('exit', 1);
    const next = thread.run(task, swap);
    expect(SilentWorker.all.length).toBe(count + 1);
    lastWorker().events.emit('message', { type: 'done', report: { nextFirstDirtyOffset: 2n } });
    await next;
    await thread.close();
    expect(lastWorker().isTerminated).toBe(true);
  });

  it('or hangs after being aborted, is ended', async () => {
    vi.useFakeTimers();
    try {
      const thread = newThread();
      const run = thread.run(task, swap);
      const ended = expect(run).rejects.toMatchObject({ code: 'LOG_CLEANING_ABORTED' });
      const closed = thread.close();
      await vi.advanceTimersByTimeAsync(4_999);
      expect(lastWorker().isTerminated).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      await ended;
      expect(lastWorker().isTerminated).toBe(true);
      await closed;
    } finally {
      vi.useRealTimers();
    }
  });
});
