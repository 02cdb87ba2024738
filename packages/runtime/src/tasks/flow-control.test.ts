import { describe, expect, it } from 'vitest';
import { INPUT_BUFFER_MAX_BYTES, QUEUE_SHARE_MAX_BYTES, QUEUE_SHARE_MIN_BYTES } from '../limits.ts';
import { FlowControl } from './flow-control.ts';
import type { RecordQueue } from './record-queue.ts';

function queue(bufferedBytes: number, bufferedRecords: number): RecordQueue {
  return { bufferedBytes, bufferedRecords } as unknown as RecordQueue;
}

describe('FlowControl', () => {
  it('lets one large batch of many records end no prefetching', () => {
    const flow = new FlowControl(1_000);
    expect(flow.isFull(queue(1024 * 1024, 50_000))).toBe(false);
    expect(flow.isFull(queue(QUEUE_SHARE_MAX_BYTES + 1, 50_000))).toBe(true);
  });

  it('bounds a queue of few, large records by bytes', () => {
    const flow = new FlowControl(1_000);
    expect(flow.isFull(queue(QUEUE_SHARE_MAX_BYTES + 1, 3))).toBe(false);
    expect(flow.isFull(queue(2 * QUEUE_SHARE_MAX_BYTES + 1, 3))).toBe(true);
  });

  it('shares the memory of a thread among its queues', () => {
    const flow = new FlowControl(1);
    const count = 256;
    flow.share(count);
    const share = INPUT_BUFFER_MAX_BYTES / count;
    expect(flow.isFull(queue(share, 2))).toBe(false);
    expect(flow.isFull(queue(share + 1, 2))).toBe(true);
    flow.share(1_000_000);
    expect(flow.isFull(queue(QUEUE_SHARE_MIN_BYTES, 2))).toBe(false);
    expect(flow.isFull(queue(QUEUE_SHARE_MIN_BYTES + 1, 2))).toBe(true);
  });
});
