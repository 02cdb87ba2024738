import { describe, expect, it } from 'vitest';
import { ProtocolError } from '../bytes/protocol-error.ts';
import { ConsumerProtocolSubscription } from './consumer-protocol.ts';
import { GroupMetadataKey, OffsetCommitKey, OffsetCommitValue } from './group-records.ts';
import { decodeVersioned, encodeVersioned, versionOf } from './versioned.ts';

describe('messages behind their version', () => {
  it('tells the kind of a key in __consumer_offsets', () => {
    const offset = encodeVersioned(OffsetCommitKey, 1, { group: 'g', topic: 't', partition: 3 });
    expect(offset.toString('hex')).toBe('0001' + '000167' + '000174' + '00000003');
    expect(versionOf(offset)).toBe(1);
    const group = encodeVersioned(GroupMetadataKey, 2, { group: 'g' });
    expect(group.toString('hex')).toBe('0002' + '000167');
    expect(decodeVersioned(GroupMetadataKey, group)).toEqual({ version: 2, body: { group: 'g' } });
  });

  it('refuses a version that is not declared, in both directions', () => {
    const encoded = encodeVersioned(OffsetCommitValue, 3, { offset: 5n });
    encoded.writeInt16BE(9, 0);
    expect(() => decodeVersioned(OffsetCommitValue, encoded)).toThrow(/version 9 is not known/);
    expect(() => encodeVersioned(GroupMetadataKey, 1, {})).toThrow(ProtocolError);
    expect(() => decodeVersioned(OffsetCommitValue, Buffer.from([0]))).toThrow(ProtocolError);
  });

  it('reads a newer consumer protocol as the newest known one when asked to', () => {
    const encoded = Buffer.concat([
      encodeVersioned(ConsumerProtocolSubscription, 3, { topics: ['a'], rackId: 'r' }),
      Buffer.from([1, 2, 3]),
    ]);
    encoded.writeInt16BE(7, 0);
    expect(() => decodeVersioned(ConsumerProtocolSubscription, encoded)).toThrow(ProtocolError);
    const { version, body } = decodeVersioned(ConsumerProtocolSubscription, encoded, {
      newerAsNewest: true,
    });
    expect(version).toBe(7);
    expect(body).toMatchObject({ topics: ['a'], rackId: 'r', generationId: -1 });
  });
});
