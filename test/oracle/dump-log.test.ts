import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { findFixtures } from './fixtures.ts';
import type { CleaningAnswer, DumpedBatch, DumpedSegment } from './requests.ts';

interface Line {
  readonly kind: string;
  readonly [field: string]: unknown;
}

/** What `millrace dump-log` shows of a directory, a list of lines per segment. */
async function dump(directory: string): Promise<Line[][]> {
  const args = ['dump-log', directory, '--records', '--verify', '--json'];
  const { code, out, err } = await runHere(args);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const segments: Line[][] = [[]];
  for (const text of out.trimEnd().split('\n')) {
    const line = JSON.parse(text) as Line;
    segments.at(-1)?.push(line);
    if (line.kind === 'segment') segments.push([]);
  }
  segments.pop();
  return segments;
}

/** A time that there is none of is null for us. */
const timeOf = (value: unknown): unknown => ((value as number) < 0 ? null : value);

/** As Kafka's classes see a batch, in the words of dump-log. */
function batchLine(batch: DumpedBatch): object {
  const hasHorizon = batch['deleteHorizonMs'] !== null;
  return {
    kind: 'batch',
    position: batch.position,
    sizeBytes: batch.size,
    baseOffset: String(batch.baseOffset),
    lastOffset: String(batch['lastOffset']),
    records: batch.count,
    codec: batch.codec,
    timestampType: batch['timestampType'] === 'CreateTime' ? 'createTime' : 'logAppendTime',
    baseTimestamp: hasHorizon ? null : timeOf(batch['baseTimestamp']),
    maxTimestamp: timeOf(batch['maxTimestamp']),
    leaderEpoch: batch['leaderEpoch'],
    producerId: String(batch['producerId']),
    producerEpoch: batch['producerEpoch'],
    baseSequence: batch['baseSequence'],
    isTransactional: batch['transactional'],
    isControl: batch['control'],
    deleteHorizonMs: batch['deleteHorizonMs'],
    crc: batch.crc,
    isCrcValid: batch['crcOk'],
  };
}

type DumpedRecord = Readonly<Record<string, unknown>>;

function shown(hex: unknown): unknown {
  if (hex === null) return null;
  const bytes = Buffer.from(hex as string, 'hex');
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? text : { base64: bytes.toString('base64') };
}

function recordLine(record: DumpedRecord): object {
  const { offset, timestamp, key, value, controlType, coordinatorEpoch } = record;
  const isMarker = controlType !== undefined;
  const headers = (record['headers'] ?? []) as readonly [string, string | null][];
  return {
    kind: 'record',
    offset: String(offset),
    timestamp: timeOf(timestamp),
    key: isMarker ? { control: (controlType as string).toLowerCase() } : shown(key),
    value: isMarker ? { coordinatorEpoch } : shown(value),
    headers: headers.map(([name, hex]) => ({ key: name, value: shown(hex) })),
  };
}

function linesOf({ base, size, batches }: DumpedSegment): object[] {
  return [
    ...batches.flatMap((batch) => [
      batchLine(batch),
      ...(batch['records'] as readonly DumpedRecord[]).map(recordLine),
    ]),
    {
      kind: 'segment',
      file: expect.stringContaining(`${String(base)}.log`) as string,
      sizeBytes: size,
      batches: batches.length,
      damages: 0,
    },
  ];
}

describe('millrace dump-log', () => {
  for (const fixture of findFixtures(join(import.meta.dirname, 'fixtures'))) {
    const answers = JSON.parse(
      readFileSync(join(fixture, 'answer.json'), 'utf8'),
    ) as CleaningAnswer[];
    const survivors = answers.findLast((answer) => answer.survivors !== undefined)?.survivors;
    const name = basename(fixture);

    it(`${name}: finds nothing wrong with what Kafka has written, its indexes neither`, async () => {
      for (const state of ['before', 'after']) {
        const directory = join(fixture, state);
        if (existsSync(directory)) expect(await dump(directory)).not.toEqual([]);
      }
    });

    if (survivors === undefined) continue;
    it(`${name}: shows every field of batches and records as Kafka's classes see it`, async () => {
      const segments = await dump(join(fixture, 'after'));
      expect(segments).toHaveLength(survivors.length);
      for (const [index, segment] of segments.entries()) {
        const theirs = survivors[index] as DumpedSegment;
        expect(segment).toMatchObject(linesOf(theirs));
      }
    });
  }
});
