import { BatchIterator, readControlRecord, RecordCursor } from '@millrace/protocol';
import type { StreamsClient } from '@millrace/runtime';
import { until } from './within.ts';

export interface CommittedOffsets {
  /** By partition: offsets of data whose transaction was committed, in order. */
  readonly committed: ReadonlyMap<number, readonly bigint[]>;
  readonly abortedCount: number;
  /** Of transactions that have not ended. */
  readonly openCount: number;
}

const DEADLINE_MS = 60_000;

/**
 * What is committed in a topic, told from all that is in it and from its markers alone, without a word from the
 * broker about stable offsets and aborted transactions. Not for topics that are compacted.
 */
export async function committedOffsets(
  client: StreamsClient,
  topic: string,
  partitionCount: number,
): Promise<CommittedOffsets> {
  const partitions = Array.from({ length: partitionCount }, (_, partition) => ({
    topic,
    partition,
  }));
  const fetcher = client.fetcher({
    isolationLevel: 'read_uncommitted',
    maxWaitMs: 100,
    minBytes: 1,
    maxBytes: 50 << 20,
    maxPartitionBytes: 1 << 20,
    onReady: () => undefined,
  });
  try {
    const ends = await fetcher.endOffsets(partitions, 'read_uncommitted');
    const left = new Set(
      partitions.map(({ partition }) => partition).filter((partition) => endOf(partition) > 0n),
    );
    function endOf(partition: number): bigint {
      return ends.get(`${topic}-${partition}`) ?? 0n;
    }
    const logs = new Map(partitions.map(({ partition }) => [partition, new TransactionalLog()]));
    fetcher.assign(partitions.map((each) => ({ ...each, offset: 0n })));
    await until(
      DEADLINE_MS,
      () => {
        for (const part of fetcher.drain()) {
          if (part.error !== null) throw part.error;
          logs.get(part.partition)?.add(part.records);
          if (part.nextOffset >= endOf(part.partition)) left.delete(part.partition);
        }
        return left.size === 0;
      },
      `reading all of ${topic}`,
    );
    const all = [...logs.values()];
    return {
      committed: new Map([...logs].map(([partition, log]) => [partition, log.committed])),
      abortedCount: all.reduce((sum, log) => sum + log.abortedCount, 0),
      openCount: all.reduce((sum, log) => sum + log.openCount, 0),
    };
  } finally {
    await fetcher.close(DEADLINE_MS);
  }
}

class TransactionalLog {
  readonly #committed: bigint[] = [];
  /** By producer: what it has written since its last marker. */
  readonly #open = new Map<bigint, bigint[]>();
  readonly #cursor = new RecordCursor();
  #abortedCount = 0;

  get committed(): readonly bigint[] {
    return this.#committed.sort((a, b) => (a < b ? -1 : 1));
  }

  get abortedCount(): number {
    return this.#abortedCount;
  }

  get openCount(): number {
    return [...this.#open.values()].reduce((sum, offsets) => sum + offsets.length, 0);
  }

  add(records: Buffer): void {
    const batches = new BatchIterator(records);
    for (let batch = batches.next(); batch !== null; batch = batches.next()) {
      this.#cursor.open(batch);
      const { producerId } = batch;
      const open = this.#open.get(producerId) ?? [];
      if (batch.isControl) {
        this.#cursor.next();
        const { type } = readControlRecord(this.#cursor);
        if (type === 'commit') this.#committed.push(...open);
        if (type === 'abort') this.#abortedCount += open.length;
        if (type !== 'other') this.#open.delete(producerId);
        continue;
      }
      const target = batch.isTransactional ? open : this.#committed;
      while (this.#cursor.next()) target.push(this.#cursor.offset());
      if (batch.isTransactional) this.#open.set(producerId, open);
    }
  }
}
