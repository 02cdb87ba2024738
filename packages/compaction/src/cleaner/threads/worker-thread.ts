import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { CleanerThreadError, CleaningAbortedError, toError } from '../../errors.ts';
import { CLEANER_ABORT_MS } from '../../limits.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Timer } from '../../platform/clock.ts';
import { nodeDisk } from '../../platform/node-disk.ts';
import type { CleaningReport, CleaningTask } from '../cleaning-task.ts';
import type { CleanerThread, CleanerThreadSettings, SwapGroup } from './cleaner-thread.ts';
import { AbortFlag } from './pass-control.ts';
import { fromPassErrorMessage } from './thread-messages.ts';
import type { CleanerWorkerData, FromCleanerWorker, ToCleanerWorker } from './thread-messages.ts';

/** Built beside this file; under a TypeScript runner the package's build is used, Node starts no .ts worker. */
function workerUrl(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  const url = new URL(
    isSource ? '../../../dist/cleaner/threads/cleaner-worker.js' : './cleaner-worker.js',
    import.meta.url,
  );
  if (nodeDisk.stat(fileURLToPath(url)) !== null) return url;
  throw new CleanerThreadError(
    `the cleaner's thread is not built (${url.pathname} is missing): run the build first`,
  );
}

/** The pass that a worker is busy with. */
interface RunningPass {
  readonly swap: SwapGroup;
  readonly resolve: (report: CleaningReport) => void;
  readonly reject: (error: Error) => void;
  /** Why the worker was told to end it. */
  swapError: Error | null;
}

/**
 * Passes in a worker thread, which is there from the first pass on, and works on Node's own disk.
 * Never keeps the process alive.
 */
export class WorkerThread implements CleanerThread {
  readonly #settings: CleanerThreadSettings;
  readonly #abortFlag = new AbortFlag();
  #worker: Worker | null = null;
  #exited: Promise<void> = Promise.resolve();
  #pass: RunningPass | null = null;
  /** Never rejects. */
  #settled: Promise<unknown> = Promise.resolve();
  #abortTimer: Timer | null = null;
  #isClosed = false;

  constructor(settings: CleanerThreadSettings) {
    this.#settings = settings;
  }

  run(task: CleaningTask, swap: SwapGroup): Promise<CleaningReport> {
    if (this.#isClosed) {
      return Promise.reject(new CleaningAbortedError(`${task.name}: the cleaner is stopping`));
    }
    const run = new Promise<CleaningReport>((resolve, reject) => {
      const worker = (this.#worker ??= this.#start());
      this.#abortFlag.lower();
      this.#pass = { swap, resolve, reject, swapError: null };
      this.#send(worker, { type: 'clean', task });
    }).finally(() => {
      this.#pass = null;
      this.#abortTimer?.cancel();
      this.#abortTimer = null;
    });
    this.#settled = run.catch(() => undefined);
    return run;
  }

  abort(): void {
    if (this.#pass === null) return;
    this.#abortFlag.raise();
    this.#abortTimer ??= systemClock.setTimer(CLEANER_ABORT_MS, () => {
      this.#end(new CleaningAbortedError('the pass did not end in time; its thread is ended'));
    });
  }

  release(): void {
    if (this.#pass === null) this.#end(null);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.abort();
    await this.#settled;
    this.#end(null);
    await this.#exitedInTime();
  }

  #start(): Worker {
    const { mapBytes, loadFactor, bufferBytes, throttle } = this.#settings;
    const workerData: CleanerWorkerData = {
      mapBytes,
      loadFactor,
      bufferBytes,
      throttle: throttle.memory,
      abortFlag: this.#abortFlag.memory,
    };
    const worker = new Worker(workerUrl(), {
      workerData,
      name: 'millrace-cleaner',
      // Not what this thread was started with: a test runner's loaders have no business there.
      execArgv: [],
    });
    worker.unref();
    worker.on('message', (message: FromCleanerWorker) => {
      if (this.#worker === worker) this.#receive(worker, message);
    });
    let crash: Error | null = null;
    worker.on('error', (error: unknown) => {
      crash = toError(error);
    });
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        resolve();
        if (this.#worker !== worker) return;
        this.#worker = null;
        const why = crash === null ? 'it ended by itself' : crash.message;
        this.#pass?.reject(
          new CleanerThreadError(`a cleaner thread died: ${why}`, { cause: crash }),
        );
      });
    });
    return worker;
  }

  #send(worker: Worker, message: ToCleanerWorker): void {
    worker.postMessage(message);
  }

  #receive(worker: Worker, message: FromCleanerWorker): void {
    const pass = this.#pass;
    if (pass === null) return;
    switch (message.type) {
      case 'group':
        pass.swap(message.group).then(
          () => {
            this.#send(worker, { type: 'swapped' });
          },
          (error: unknown) => {
            pass.swapError = toError(error);
            this.#send(worker, { type: 'end' });
          },
        );
        break;
      case 'done':
        pass.resolve(message.report);
        break;
      case 'ended':
        pass.reject(pass.swapError ?? new CleaningAbortedError('the pass was ended'));
        break;
      case 'failed':
        pass.reject(fromPassErrorMessage(message.error));
        break;
    }
  }

  /** Ends the worker; a pass under way then fails with `error`: until it has ended it may still write. */
  #end(error: Error | null): void {
    const worker = this.#worker;
    const pass = this.#pass;
    this.#worker = null;
    if (worker === null) return;
    void worker.terminate();
    if (error === null || pass === null) return;
    void this.#exitedInTime().then(() => {
      pass.reject(error);
    });
  }

  /** A thread that is stuck in the system cannot be ended: it is not waited for any longer than that. */
  async #exitedInTime(): Promise<void> {
    let timer: Timer | undefined;
    const isOver = new Promise<void>((resolve) => {
      timer = systemClock.setTimer(CLEANER_ABORT_MS, resolve);
    });
    await Promise.race([this.#exited, isOver]);
    timer?.cancel();
  }
}
