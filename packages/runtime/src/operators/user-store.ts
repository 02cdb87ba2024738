import type { RecordHeaders } from '@millrace/protocol';
import type { StateStore } from '../state/store.ts';

/** The record, or punctuation, that a processor has in hand. */
export interface RecordInHand {
  readonly recordTimestamp: number;
  readonly recordHeaders: RecordHeaders | null;
}

/** What a processor has no business with is the task's. */
export abstract class UserStore<S extends StateStore> {
  protected readonly inner: S;
  protected readonly record: RecordInHand;

  constructor(inner: S, record: RecordInHand) {
    this.inner = inner;
    this.record = record;
  }

  get name(): string {
    return this.inner.name;
  }

  get isPersistent(): boolean {
    return this.inner.isPersistent;
  }

  get isOpen(): boolean {
    return this.inner.isOpen;
  }

  open(...parts: Parameters<StateStore['open']>): void {
    this.inner.open(...parts);
  }

  restore(...parts: Parameters<StateStore['restore']>): void {
    this.inner.restore(...parts);
  }

  committedOffset(): bigint | null {
    return this.inner.committedOffset();
  }

  commit(changelogOffset: bigint | null): void {
    this.inner.commit(changelogOffset);
  }

  close(): void {
    this.inner.close();
  }
}
