import { ProtocolError } from '@millrace/protocol';
import { CorruptBatchError } from '../errors.ts';
import {
  BATCHES_REMEMBERED_PER_PRODUCER,
  PRODUCER_RECALL_BYTES,
  RECOVERY_CHUNK_BYTES,
} from '../limits.ts';
import { BatchReader } from '../segment/batch-reader.ts';
import type { Segment } from '../segment/segment.ts';
import type { SegmentList } from '../segment/segment-list.ts';
import { isNextSequence } from './producer-entry.ts';
import type { RememberedBatch } from './producer-entry.ts';
import type { ProducerState } from './producer-state.ts';

interface Recalled {
  readonly producerEpoch: number;
  readonly batches: RememberedBatch[];
}

/**
 * After a kill a producer repeats whatever it has had no answer for, up to five batches, but a snapshot
 * knows its last one only. The others are read from the end of the log. Kafka leaves that out: a repeat
 * of an earlier one is out of order there, and an idempotent producer then writes its records again,
 * under a new epoch.
 */
export function recallBatches(producers: ProducerState, segments: SegmentList): void {
  if (producers.isEmpty) return;
  const recalled = new Map<bigint, Recalled>();
  for (const { segment, start } of endOfLog(segments)) {
    try {
      readInto(recalled, segment, start);
    } catch (error) {
      // A segment below the recovery point is not looked at otherwise; its readers will be told.
      if (!(error instanceof CorruptBatchError || error instanceof ProtocolError)) throw error;
      recalled.clear();
    }
  }
  for (const [producerId, { producerEpoch, batches }] of recalled) {
    producers.recall(producerId, producerEpoch, batches);
  }
}

/** The segments that hold the last bytes of the log, in order, and where in them to begin. */
function endOfLog(segments: SegmentList): { segment: Segment; start: number }[] {
  const parts: { segment: Segment; start: number }[] = [];
  let left = PRODUCER_RECALL_BYTES;
  for (let index = segments.count - 1; index >= 0 && left > 0; index--) {
    const segment = segments.at(index) as Segment;
    const surplus = segment.sizeBytes - left;
    parts.unshift({
      segment,
      start: surplus > 0 ? segment.offsetIndex.positionAtMost(surplus) : 0,
    });
    left -= segment.sizeBytes;
  }
  return parts;
}

function readInto(recalled: Map<bigint, Recalled>, segment: Segment, start: number): void {
  const { file, sizeBytes } = segment;
  const reader = new BatchReader(file, start, sizeBytes, RECOVERY_CHUNK_BYTES);
  for (let batch = reader.next(); batch; batch = reader.next()) {
    if (!batch.hasProducerId || batch.isControl) continue;
    const { producerId, producerEpoch, baseSequence, lastSequence } = batch;
    let known = recalled.get(producerId);
    const last = known?.batches.at(-1);
    const follows =
      known?.producerEpoch === producerEpoch &&
      last !== undefined &&
      isNextSequence(last.lastSequence, baseSequence);
    if (known === undefined || !follows) {
      known = { producerEpoch, batches: [] };
      recalled.set(producerId, known);
    }
    known.batches.push({
      firstSequence: baseSequence,
      lastSequence,
      firstOffset: batch.baseOffset,
      lastOffset: batch.lastOffset,
      timestamp: batch.maxTimestamp,
    });
    if (known.batches.length > BATCHES_REMEMBERED_PER_PRODUCER) known.batches.shift();
  }
}
