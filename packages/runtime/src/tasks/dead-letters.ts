import type { DeadLetterRecord } from '../error-handlers.ts';
import type { Outcome } from '../operators/outcome.ts';

/** The records that handlers want to be written: at once, or when their topic is known. */
export class DeadLetters {
  readonly #write: (record: DeadLetterRecord) => Outcome;
  readonly #pending: Promise<void>[] = [];
  #failure: unknown = null;
  #writtenCount = 0;

  constructor(write: (record: DeadLetterRecord) => Outcome) {
    this.#write = write;
  }

  /** How many were handed over so far. */
  get writtenCount(): number {
    return this.#writtenCount;
  }

  write(records: readonly DeadLetterRecord[]): void {
    for (const record of records) {
      this.#writtenCount++;
      const outcome = this.#write(record);
      if (outcome === undefined) continue;
      this.#pending.push(
        outcome.catch((error: unknown) => {
          this.#failure ??= error;
        }),
      );
    }
  }

  /** Done when each is in its batch, and throws if one could not be written; before a producer is flushed. */
  finish(): Outcome {
    return this.#pending.length === 0 ? undefined : this.#finishPending();
  }

  async #finishPending(): Promise<void> {
    await Promise.all(this.#pending.splice(0));
    const failure = this.#failure;
    this.#failure = null;
    if (failure !== null) throw failure as Error;
  }
}
