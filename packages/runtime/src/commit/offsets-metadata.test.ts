import { describe, expect, it } from 'vitest';
import { decodePartitionMetadata, encodePartitionMetadata } from './offsets-metadata.ts';

const none = new Map<string, number>();

describe('offset metadata', () => {
  it("has Kafka Streams' bytes: magic 2, then the partition time", () => {
    const text = encodePartitionMetadata({ partitionTime: 258, emittedWindowCloseTimes: none });
    expect(Buffer.from(text, 'base64').toString('hex')).toBe('020000000000000102');
  });

  it('carries the emitted close times by store name', () => {
    const metadata = { partitionTime: -1, emittedWindowCloseTimes: new Map([['store-ä', 77]]) };
    const text = encodePartitionMetadata(metadata);
    const hex = Buffer.from(text, 'base64').toString('hex');
    expect(hex).toBe('02ffffffffffffffff000000010000000873746f72652dc3a4000000000000004d');
    expect(decodePartitionMetadata(text)).toEqual(metadata);
  });

  it('reads magic 1, which knows no processors', () => {
    const buffer = Buffer.alloc(9);
    buffer.writeUInt8(1, 0);
    buffer.writeBigInt64BE(99n, 1);
    expect(decodePartitionMetadata(buffer.toString('base64')).partitionTime).toBe(99);
  });

  it.each([
    ['empty', ''],
    ['too short', 'Ag=='],
    ['a foreign text', 'hello world, this is something else'],
    ['a later magic', Buffer.concat([Buffer.from([9]), Buffer.alloc(8)]).toString('base64')],
    [
      'a cut list',
      Buffer.concat([Buffer.from([2]), Buffer.alloc(8), Buffer.from([0, 0, 0, 5])]).toString(
        'base64',
      ),
    ],
    [
      'a negative length',
      Buffer.from('020000000000000000' + '00000001' + 'ffffffff' + '00'.repeat(8), 'hex').toString(
        'base64',
      ),
    ],
  ])('takes %s for unknown', (_, text) => {
    expect(decodePartitionMetadata(text)).toEqual({
      partitionTime: -1,
      emittedWindowCloseTimes: none,
    });
  });
});
