import type { RecordCursor, RecordHeaders } from '@millrace/protocol';
import type { ExtractedRecord } from '../topology/built-topology.ts';

/** What a timestamp extractor sees of a queue's head: one for all heads, so that none is made per record. */
export class ExtractedHead implements ExtractedRecord {
  readonly topic: string;
  readonly partition: number;
  key: unknown = null;
  value: unknown = null;
  headers: RecordHeaders | null = null;
  readonly #cursor: RecordCursor;
  readonly #now: () => number;

  constructor(
    { topic, partition }: { readonly topic: string; readonly partition: number },
    cursor: RecordCursor,
    now: () => number,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.#cursor = cursor;
    this.#now = now;
  }

  get offset(): bigint {
    return this.#cursor.offset();
  }

  get timestamp(): number {
    return this.#cursor.timestamp;
  }

  get systemTimeMs(): number {
    return this.#now();
  }
}
