import path from 'node:path';
import { readLeaderEpochs } from '../log/leader-epoch-file.ts';
import { decodeSnapshot } from '../log/producer-snapshot.ts';
import type { Disk } from '../platform/disk.ts';
import { readOffsetIndex, readTimeIndex } from '../segment/index-inspector.ts';
import { parseSegmentFileName } from '../segment/segment-files.ts';
import { TxnIndex } from '../segment/txn-index.ts';
import { parseLogDirectoryName } from './directory-names.ts';
import { CHECKPOINT_KINDS, OffsetCheckpoint } from './offset-checkpoint.ts';

export type LogFileKind =
  | 'offset-index'
  | 'time-index'
  | 'transaction-index'
  | 'producer-snapshot'
  | 'leader-epochs'
  | 'offset-checkpoint';

/** What a file beside the segments says, an object per entry. */
export interface LogFileContent {
  readonly kind: LogFileKind;
  readonly entries: readonly Readonly<Record<string, bigint | number | string>>[];
}

/**
 * Reads an index, producer snapshot, leader epochs or a checkpoint of offsets, by its name. null: the
 * name is that of a segment, or says nothing.
 *
 * @throws CorruptIndexError, CorruptSnapshotError, MalformedFileError naming file and place.
 */
export function readLogFile(disk: Disk, file: string): LogFileContent | null {
  const directory = path.dirname(file);
  const name = path.basename(file);
  const checkpoint = CHECKPOINT_KINDS.find((kind) => kind === name);
  if (checkpoint !== undefined) {
    const entries = [...new OffsetCheckpoint(disk, directory, checkpoint).read()];
    return {
      kind: 'offset-checkpoint',
      entries: entries.map(([log, offset]) => {
        const { topic, partition } = parseLogDirectoryName(log) ?? { topic: log, partition: -1 };
        return { topic, partition, offset };
      }),
    };
  }
  if (name === 'leader-epoch-checkpoint') {
    const entries = readLeaderEpochs(disk, directory);
    return { kind: 'leader-epochs', entries: entries.map((entry) => ({ ...entry })) };
  }
  const segmentFile = parseSegmentFileName(name);
  if (segmentFile === null) return null;
  const { kind, baseOffset } = segmentFile;
  switch (kind) {
    case '.index': {
      const entries = readOffsetIndex(disk, file, baseOffset);
      return { kind: 'offset-index', entries: entries.map((entry) => ({ ...entry })) };
    }
    case '.timeindex': {
      const entries = readTimeIndex(disk, file, baseOffset);
      return { kind: 'time-index', entries: entries.map((entry) => ({ ...entry })) };
    }
    case '.txnindex': {
      const entries = new TxnIndex(disk, file, baseOffset).entries();
      return { kind: 'transaction-index', entries: entries.map((entry) => ({ ...entry })) };
    }
    case '.snapshot':
      return { kind: 'producer-snapshot', entries: snapshotEntries(disk, file) };
    case '.log':
      return null;
  }
}

function snapshotEntries(disk: Disk, file: string): LogFileContent['entries'] {
  return decodeSnapshot(disk.readFile(file), file).map((producer) => ({
    producerId: producer.producerId,
    producerEpoch: producer.producerEpoch,
    coordinatorEpoch: producer.coordinatorEpoch,
    lastSequence: producer.lastSequence,
    lastOffset: producer.lastBatch?.lastOffset ?? -1n,
    lastTimestamp: producer.lastTimestamp,
    currentTxnFirstOffset: producer.currentTxnFirstOffset,
  }));
}
