import { RecordBatch } from '@millrace/protocol';
import { describe, expect, it } from 'vitest';
import { MemoryDisk } from '../platform/memory-disk.ts';
import { batchOf, plainBatch, T0 } from '../testing/batches.ts';
import { SegmentInspector, type SegmentDamage } from './segment-inspector.ts';

const PATH = '/data/t-0/00000000000000000010.log';

/** Batches of two records each, from offset 10 on. */
function segment(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => {
    const bytes = plainBatch(2, { codec: i % 2 === 0 ? 'none' : 'gzip', timestamp: T0 + i });
    new RecordBatch(bytes).setBaseOffset(BigInt(10 + 2 * i));
    return bytes;
  });
}

interface Seen {
  readonly offsets: bigint[];
  readonly positions: number[];
  readonly records: bigint[];
  readonly damages: SegmentDamage[];
}

function inspect(content: Buffer, path = PATH): Seen {
  const disk = new MemoryDisk();
  disk.makeDirectory('/data');
  disk.makeDirectory('/data/t-0');
  disk.writeFile(path, content);
  const inspector = new SegmentInspector(disk, path);
  const seen: Seen = { offsets: [], positions: [], records: [], damages: [] };
  const batches = inspector.batches((cursor) => {
    seen.records.push(cursor.offset());
  });
  for (let next = batches.next(); ; next = batches.next()) {
    if (next.done === true) {
      if (next.value !== null) seen.damages.push(next.value);
      break;
    }
    seen.offsets.push(next.value.batch.baseOffset);
    seen.positions.push(next.value.position);
    seen.damages.push(...next.value.damages);
  }
  inspector.close();
  return seen;
}

describe('SegmentInspector', () => {
  it('reads every batch and record of an intact segment', () => {
    const batches = segment(3);
    const first = batches[0]?.length ?? 0;
    const second = batches[1]?.length ?? 0;
    expect(inspect(Buffer.concat(batches))).toEqual({
      offsets: [10n, 12n, 14n],
      positions: [0, first, first + second],
      records: [10n, 11n, 12n, 13n, 14n, 15n],
      damages: [],
    });
    expect(inspect(Buffer.alloc(0))).toEqual({
      offsets: [],
      positions: [],
      records: [],
      damages: [],
    });
  });

  it('goes on after a batch whose CRC is wrong, without its records', () => {
    const batches = segment(3);
    const bad = batches[1] as Buffer;
    bad[bad.length - 1] = (bad[bad.length - 1] ?? 0) ^ 0xff;
    const seen = inspect(Buffer.concat(batches));
    expect(seen.offsets).toEqual([10n, 12n, 14n]);
    expect(seen.records).toEqual([10n, 11n, 14n, 15n]);
    expect(seen.damages).toMatchObject([
      { kind: 'crc', offset: 12n, position: batches[0]?.length, sizeBytes: bad.length },
    ]);
  });

  it('says at every length of the file where it is cut', () => {
    const batches = segment(2);
    const whole = Buffer.concat(batches);
    const first = batches[0]?.length ?? 0;
    for (let length = 1; length < whole.length; length++) {
      const { damages, offsets } = inspect(whole.subarray(0, length));
      if (length === first) {
        expect(damages).toEqual([]);
        continue;
      }
      const position = length < first ? 0 : first;
      const kind = whole.subarray(position, length).every((byte) => byte === 0) ? 'zeros' : 'cut';
      expect(offsets).toEqual(length < first ? [] : [10n]);
      expect(damages).toMatchObject([{ kind, position, sizeBytes: length - position }]);
      expect(damages[0]?.offset).toBe(length < first ? 10n : 12n);
    }
  });

  it('tells zeros and strange bytes from a cut', () => {
    const batches = segment(1);
    const first = batches[0]?.length ?? 0;
    expect(inspect(Buffer.concat([...batches, Buffer.alloc(5_000)])).damages).toMatchObject([
      { kind: 'zeros', position: first, offset: 12n, sizeBytes: 5_000 },
    ]);
    expect(inspect(Buffer.concat([...batches, Buffer.alloc(5_000, 7)])).damages).toMatchObject([
      { kind: 'format', position: first, offset: 12n },
    ]);
  });

  it('finds offsets that do not follow, and a right CRC over wrong records', () => {
    const [one, two] = segment(2) as [Buffer, Buffer];
    expect(inspect(Buffer.concat([two, one])).damages).toMatchObject([
      { kind: 'order', position: two.length, offset: 10n },
    ]);
    expect(inspect(one, '/data/t-0/00000000000000000011.log').damages).toMatchObject([
      { kind: 'order', position: 0, offset: 10n },
    ]);
    const records = batchOf([{ value: 'a' }, { value: 'b' }]);
    const batch = new RecordBatch(records);
    batch.setBaseOffset(10n);
    records.writeInt32BE(3, 57);
    // Rewrites the CRC over the record count that is wrong now.
    batch.setLogAppendTime(T0);
    const damages = inspect(records).damages;
    expect(damages).toMatchObject([{ kind: 'records', offset: 10n }]);
  });
});
