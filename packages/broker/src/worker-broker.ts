import { Worker } from 'node:worker_threads';
import { systemClock } from '@millrace/compaction';
import type { Logger } from 'pino';
import { BrokerCrashedError, BrokerStartError, BrokerStoppedError, toError } from './errors.ts';
import { WORKER_STOP_MS } from './limits.ts';
import { fileExists } from './server/temporary-directory.ts';
import type { RunningBroker } from './embedded-broker.ts';
import type {
  Answers,
  FromWorker,
  ToWorker,
  WorkerData,
  WorkerErrorMessage,
} from './worker-messages.ts';

/** Built beside this file; under a TypeScript runner the package's build is used, Node starts no .ts worker. */
function workerUrl(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  const url = new URL(
    isSource ? '../dist/broker-worker.js' : './broker-worker.js',
    import.meta.url,
  );
  if (fileExists(url)) return url;
  throw new BrokerStartError(
    'BROKER_WORKER_NOT_BUILT',
    `The broker's thread is not built (${url.pathname} is missing): run the build first, or pass inProcess: true.`,
  );
}

function fromMessage({ code, message, stack }: WorkerErrorMessage): Error {
  const error = new BrokerStartError(code, message);
  if (stack !== '') error.stack = stack;
  return error;
}

/** Starts the broker in a thread of its own. Rejects with BrokerStartError. */
export async function startWorker(workerData: WorkerData, logger: Logger): Promise<RunningBroker> {
  const worker = new Worker(workerUrl(), {
    workerData,
    name: 'millrace-broker',
    // Not what this thread was started with: a test runner's loaders have no business there.
    execArgv: [],
  });
  return new Promise((resolve, reject) => {
    const thread = new BrokerThread(worker, logger);
    thread.ready.then(
      () => {
        resolve(thread);
      },
      (error: unknown) => {
        reject(toError(error));
      },
    );
  });
}

/**
 * The thread as seen from outside.
 *
 * ```
 *  starting ── ready ──▶ running ── stopped ──▶ ended
 *     │ failed, exit        │ error, exit: crashed ▲
 *     └─────────────────────┴──────────────────────┘
 * ```
 */
class BrokerThread implements RunningBroker {
  readonly ready: Promise<void>;
  readonly stopped: Promise<void>;
  port = 0;
  clusterId = '';
  readonly #worker: Worker;
  readonly #logger: Logger;
  readonly #exited: Promise<void>;
  /** Questions without an answer yet. */
  readonly #asked = new Map<
    number,
    { readonly resolve: (answer: never) => void; readonly reject: (error: Error) => void }
  >();
  #lastQuestion = 0;
  #isReady = false;
  #isStopped = false;
  #hasExited = false;
  #crash: Error | null = null;
  #stopError: Error | null = null;

  constructor(worker: Worker, logger: Logger) {
    this.#worker = worker;
    this.#logger = logger;
    let onReady = (): void => undefined;
    let onFailed: (error: Error) => void = () => undefined;
    this.ready = new Promise((resolve, reject) => {
      onReady = resolve;
      onFailed = reject;
    });
    worker.on('message', (message: FromWorker) => {
      switch (message.type) {
        case 'log':
          this.#log(message.line);
          break;
        case 'ready':
          this.port = message.port;
          this.clusterId = message.clusterId;
          this.#isReady = true;
          onReady();
          break;
        case 'failed':
          this.#crash = fromMessage(message.error);
          break;
        case 'answer':
          this.#asked.get(message.id)?.resolve(message.answer as never);
          this.#asked.delete(message.id);
          break;
        case 'refused':
          this.#asked.get(message.id)?.reject(fromMessage(message.error));
          this.#asked.delete(message.id);
          break;
        case 'stopped':
          this.#isStopped = true;
          if (message.error !== null) this.#stopError = fromMessage(message.error);
          break;
      }
    });
    worker.on('error', (error: unknown) => {
      this.#crash ??= new BrokerCrashedError(
        `The broker's thread failed: ${(error as Error).message}`,
        { cause: error },
      );
    });
    this.#exited = new Promise((resolve) => {
      worker.on('exit', () => {
        resolve();
      });
    });
    this.stopped = this.#exited.then(() => {
      this.#hasExited = true;
      for (const { reject } of this.#asked.values()) reject(new BrokerStoppedError());
      this.#asked.clear();
      const crash = this.#crash ?? new BrokerCrashedError("The broker's thread ended by itself.");
      if (!this.#isReady) onFailed(crash);
      else if (!this.#isStopped) {
        logger.error({ err: crash }, 'the broker crashed');
        throw crash;
      }
    });
  }

  metrics(): Promise<Answers['metrics']> {
    return this.#ask('metrics');
  }

  cleanerStatus(): Promise<Answers['cleanerStatus']> {
    return this.#ask('cleanerStatus');
  }

  #ask<Question extends keyof Answers>(question: Question): Promise<Answers[Question]> {
    if (this.#hasExited) return Promise.reject(new BrokerStoppedError());
    const id = (this.#lastQuestion += 1);
    return new Promise<Answers[Question]>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      const message: ToWorker = { type: 'ask', id, question };
      this.#worker.postMessage(message);
    });
  }

  async close(): Promise<void> {
    const message: ToWorker = { type: 'close' };
    this.#worker.postMessage(message);
    const deadline = systemClock.setTimer(WORKER_STOP_MS, () => {
      this.#logger.warn(
        { waitedMs: WORKER_STOP_MS },
        'the broker did not stop in time; it is ended',
      );
      this.#isStopped = true;
      void this.#worker.terminate();
    });
    await this.#exited;
    deadline.cancel();
    if (this.#stopError !== null) throw this.#stopError;
  }

  /** A line of the thread's logger, written by the logger here. */
  #log(line: string): void {
    const { level, msg, ...fields } = JSON.parse(line) as { level: number; msg?: string };
    delete (fields as { time?: number }).time;
    const name = this.#logger.levels.labels[level] as 'info' | undefined;
    this.#logger[name ?? 'info'](fields, msg);
  }
}
