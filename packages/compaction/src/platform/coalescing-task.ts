/**
 * Runs one asynchronous task at a time. Requests made in one tick share a run, and so do those that
 * arrive while one is under way: their run starts when it ends.
 */
export class CoalescingTask {
  readonly #run: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(run: () => Promise<void>) {
    this.#run = run;
  }

  /** Resolves once a run that began after this call has ended; rejects as that run does. */
  request(): Promise<void> {
    this.#next ??= this.#start(this.#running);
    return this.#next;
  }

  /** Resolves when nothing is under way; never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.#running, this.#next]);
  }

  async #start(previous: Promise<void> | null): Promise<void> {
    // Whoever asks in the same tick joins this run.
    await Promise.resolve();
    if (previous) await Promise.allSettled([previous]);
    this.#running = this.#next;
    this.#next = null;
    try {
      await this.#run();
    } finally {
      this.#running = null;
    }
  }
}
