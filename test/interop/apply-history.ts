import type { FakeClock, Log } from '@millrace/compaction';
import { BatchBuilder, encodeControlBatch, RecordHeaders, type Codec } from '@millrace/protocol';
import type { Step } from './log-history.ts';

const bytes = (text: string | null): Buffer | null =>
  text === null ? null : Buffer.from(text, 'hex');

/** Does to our log what the oracle's `write` does to Kafka's. */
export function applyStep(log: Log, clock: FakeClock, step: Step): void {
  if (step.nowMs !== undefined) clock.setNow(step.nowMs);
  const leaderEpoch = step.leaderEpoch ?? 0;
  if (step.roll) {
    log.roll();
    return;
  }
  if (step.marker) {
    const marker = encodeControlBatch({
      baseOffset: 0n,
      producerId: BigInt(step.producerId ?? -1),
      producerEpoch: step.producerEpoch ?? 0,
      type: step.marker,
      coordinatorEpoch: step.coordinatorEpoch ?? 0,
      timestamp: step.timestamp ?? clock.now(),
      leaderEpoch,
    });
    log.appendAsLeader(marker, { leaderEpoch, origin: 'coordinator' });
    return;
  }
  const builder = new BatchBuilder({ codec: (step.codec ?? 'none') as Codec, maxBytes: 1 << 20 });
  for (const record of step.records ?? []) {
    let headers: RecordHeaders | null = null;
    for (const [name, value] of record.headers ?? []) {
      headers ??= new RecordHeaders();
      headers.add(name, bytes(value));
    }
    builder.appendBytes(record.timestamp, bytes(record.key), bytes(record.value), headers);
  }
  const batch = builder.build({
    producerId: BigInt(step.producerId ?? -1),
    producerEpoch: step.producerEpoch ?? -1,
    baseSequence: step.baseSequence ?? -1,
    isTransactional: step.transactional ?? false,
  });
  log.appendAsLeader(Buffer.from(batch), { leaderEpoch });
}
