import { errorCodes } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { batchOf } from '../testing-support/test-client.ts';
import { producedBatch } from './produced-batch.ts';

const batch = batchOf({ values: ['a'] });

function codeOf(records: Buffer | null, version = 9): number {
  const result = producedBatch(records, version);
  return Buffer.isBuffer(result) ? errorCodes.NONE : result.errorCode;
}

function changed(position: number, value: number): Buffer {
  const copy = Buffer.from(batch);
  copy[position] = value;
  return copy;
}

describe('the batch of a produce request', () => {
  it('is taken as it is, and what follows it unless it is a batch is cut off', () => {
    expect(producedBatch(batch, 3)).toBe(batch);
    for (const rest of [Buffer.alloc(5), batch.subarray(0, 40), batch.subarray(0, -1)]) {
      expect(producedBatch(Buffer.concat([batch, rest]), 9)).toEqual(batch);
    }
  });

  it.each([
    ['nothing', null, errorCodes.INVALID_RECORD],
    ['no bytes', Buffer.alloc(0), errorCodes.INVALID_RECORD],
    ['16 bytes', Buffer.alloc(16), errorCodes.INVALID_RECORD],
    ['a batch that is cut', batch.subarray(0, -1), errorCodes.INVALID_RECORD],
    ['two batches', Buffer.concat([batch, batch]), errorCodes.INVALID_RECORD],
    ['an older format', changed(16, 1), errorCodes.INVALID_RECORD],
    ['zeros', Buffer.alloc(100), errorCodes.CORRUPT_MESSAGE],
    ['a negative length', changed(8, 0x80), errorCodes.CORRUPT_MESSAGE],
    ['an unknown format', changed(16, 3), errorCodes.CORRUPT_MESSAGE],
    ['a negative format', changed(16, 0xff), errorCodes.CORRUPT_MESSAGE],
    ['zeros behind a batch', Buffer.concat([batch, Buffer.alloc(20)]), errorCodes.CORRUPT_MESSAGE],
  ])('is refused when it is %s', (_what, records, errorCode) => {
    expect(codeOf(records)).toBe(errorCode);
  });

  it('may be zstd from version 7 on', () => {
    expect(codeOf(changed(22, 4), 6)).toBe(errorCodes.UNSUPPORTED_COMPRESSION_TYPE);
    expect(codeOf(changed(22, 4), 7)).toBe(errorCodes.NONE);
  });
});
