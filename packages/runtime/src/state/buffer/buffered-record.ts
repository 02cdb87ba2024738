import type { RecordHeaders } from '@millrace/protocol';
import type { Queued } from './time-ordered-queue.ts';

const LONG_BYTES = 8;
const INT_BYTES = 4;

/**
 * A record that a buffer keeps, with what was known of it when it came. Bytes are kept as latin1
 * text, one character a byte: it lies on the heap without an ArrayBuffer of its own, and compares by
 * its bytes.
 */
export class BufferedRecord implements Queued {
  readonly id: string;
  readonly time: number;
  queueIndex = -1;
  value: string | null = null;
  /** Of the table's change that came last. */
  old: string | null = null;
  /** What the table held under this key before the first change that is kept here. */
  prior: string | null = null;
  /** With `dsl.store.format=HEADERS` each value has headers and timestamp of its own before it; see `valuePrefix`. */
  valuePrefix: string | null = null;
  oldPrefix: string | null = null;
  priorPrefix: string | null = null;
  timestamp = -1;
  topic: string | null = null;
  partition = -1;
  offset = -1n;
  headers: RecordHeaders | null = null;

  constructor(id: string, time: number) {
    this.id = id;
    this.time = time;
  }

  /** What Kafka Streams counts for the record against `maxBytes`; its id's bytes are the caller's to add. */
  get estimatedBytes(): number {
    const { prior, old, value, topic } = this;
    let bytes = LONG_BYTES + LONG_BYTES + INT_BYTES + (topic?.length ?? 0);
    if (prior !== null) bytes += prior.length + (this.priorPrefix?.length ?? 0);
    if (old !== null && !this.isOldPrior) bytes += old.length + (this.oldPrefix?.length ?? 0);
    if (value !== null) bytes += value.length + (this.valuePrefix?.length ?? 0);
    for (const header of this.headers ?? []) {
      bytes += header.key.length + (header.value?.length ?? 0);
    }
    return bytes;
  }

  /** Takes over all that another record says, but stays where it is in the queue. */
  adopt(other: BufferedRecord): void {
    this.value = other.value;
    this.old = other.old;
    this.prior = other.prior;
    this.valuePrefix = other.valuePrefix;
    this.oldPrefix = other.oldPrefix;
    this.priorPrefix = other.priorPrefix;
    this.timestamp = other.timestamp;
    this.topic = other.topic;
    this.partition = other.partition;
    this.offset = other.offset;
    this.headers = other.headers;
  }

  /** The old and the prior value are one and the same, as they stand in memory. */
  get isOldPrior(): boolean {
    return this.old === this.prior && this.oldPrefix === this.priorPrefix;
  }
}
