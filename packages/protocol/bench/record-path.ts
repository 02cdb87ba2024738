/**
 * What one record costs to encode and decode: 100-byte string values, 12-byte keys, 500 records a
 * batch. Build the package first, then run this file's built form:
 *
 *     npx tsc -b packages/protocol && npx tsc -p packages/protocol/bench && \
 *       node packages/protocol/bench/dist/record-path.js
 */
import { performance } from 'node:perf_hooks';
import {
  BatchBuilder,
  type Codec,
  crc32c,
  RecordBatch,
  RecordCursor,
  type ValueWriter,
} from '@millrace/protocol';

const RECORDS_PER_BATCH = 500;
const BATCHES = 2000;
const ROUNDS = 5;
const START_MS = 1_600_000_000_000;

const stringWriter: ValueWriter<string> = {
  write(value, target, position) {
    // As many bytes as characters at least: then see what it took.
    if (value.length * 3 > target.length - position) {
      if (Buffer.byteLength(value) > target.length - position) return -1;
    }
    return position + target.write(value, position, 'utf8');
  },
};

const values = Array.from({ length: 64 }, (_, i) => String.fromCharCode(97 + (i % 26)).repeat(100));
const valueBytes = values.map((value) => Buffer.from(value));
const keys = Array.from({ length: 64 }, (_, i) => Buffer.from(`key-${String(i).padStart(8, '0')}`));

function fill(builder: BatchBuilder, isString: boolean): void {
  builder.reset();
  for (let i = 0; i < RECORDS_PER_BATCH; i++) {
    const key = keys[i & 63] as Buffer;
    if (isString) {
      const value = values[i & 63] as string;
      builder.append(START_MS + i, key, 0, key.length, value, stringWriter, null);
    } else {
      builder.appendBytes(START_MS + i, key, valueBytes[i & 63] as Buffer, null);
    }
  }
}

/** Best of some rounds, ns per record. */
function measure(name: string, round: () => void): void {
  let best = Infinity;
  for (let i = 0; i < ROUNDS; i++) {
    const start = performance.now();
    for (let batch = 0; batch < BATCHES; batch++) round();
    best = Math.min(best, performance.now() - start);
  }
  const nanos = (best * 1e6) / (BATCHES * RECORDS_PER_BATCH);
  const perSecond = Math.round(1e9 / nanos).toLocaleString('en');
  console.log(`${name.padEnd(44)} ${nanos.toFixed(0).padStart(6)} ns/record ${perSecond}/s`);
}

let sink = 0;

const builder = new BatchBuilder({ codec: 'none', maxBytes: 1024 * 1024 });
measure('encode strings, with header and CRC', () => {
  fill(builder, true);
  sink += builder.build({ producerId: 1n, producerEpoch: 0, baseSequence: 0 }).length;
});
measure('encode bytes, with header and CRC', () => {
  fill(builder, false);
  sink += builder.build({ producerId: 1n, producerEpoch: 0, baseSequence: 0 }).length;
});

fill(builder, true);
const plain = Buffer.from(builder.build());
measure('CRC alone', () => {
  sink += crc32c(plain, 21, plain.length);
});

const cursor = new RecordCursor();
function decode(batch: RecordBatch): void {
  cursor.open(batch);
  while (cursor.next()) sink += cursor.valueEnd - cursor.valueStart + cursor.timestamp;
}
const batch = new RecordBatch(plain);
measure('decode', () => {
  decode(batch);
});
measure('decode and check the CRC', () => {
  batch.ensureValid();
  decode(batch);
});
measure('decode and make the value string', () => {
  cursor.open(batch);
  while (cursor.next()) {
    sink += cursor.buffer.toString('utf8', cursor.valueStart, cursor.valueEnd).length;
  }
});

for (const codec of ['gzip', 'snappy', 'lz4', 'zstd'] as const satisfies readonly Codec[]) {
  const compressing = new BatchBuilder({ codec, maxBytes: 1024 * 1024 });
  fill(compressing, true);
  const compressed = new RecordBatch(Buffer.from(compressing.build()));
  measure(`decode ${codec} (${compressed.sizeInBytes} of ${plain.length} bytes)`, () => {
    decode(compressed);
  });
}

if (!Number.isFinite(sink)) throw new Error('nothing was measured');
