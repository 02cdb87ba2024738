import type { Log } from '@millrace/compaction';
import {
  errorCodes,
  ListOffsets,
  type Encodable,
  type ListOffsetsRequest,
  type ListOffsetsResponse,
} from '@millrace/protocol';
import { Turns } from '../end-of-turn.ts';
import { PARTITIONS_PER_TURN } from '../limits.ts';
import { leaderEpochError } from '../topics/leader-epoch.ts';
import type { Partition } from '../topics/topic.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type PartitionRequest = ListOffsetsRequest['topics'][number]['partitions'][number];
type PartitionResponse = Encodable<ListOffsetsResponse['topics'][number]['partitions'][number]>;

const READ_COMMITTED = 1;
const EPOCHS_FROM_VERSION = 4;

/** Timestamps below zero ask for offsets of their own. */
const LATEST = -1n;
const EARLIEST = -2n;
const MAX_TIMESTAMP = -3n;
const EARLIEST_LOCAL = -4n;
const LATEST_TIERED = -5n;
const EARLIEST_PENDING_UPLOAD = -6n;

const firstVersionOf = new Map([
  [MAX_TIMESTAMP, 7],
  [EARLIEST_LOCAL, 8],
  [LATEST_TIERED, 9],
  [EARLIEST_PENDING_UPLOAD, 11],
]);

/**
 * ListOffsets, versions 1 to 11.
 *
 * Earliest is the log start offset, even if the record there is gone; latest is the high watermark, or
 * the last stable offset for read committed. A time finds the first record at or after it, -1 if there
 * is none below the bound. The largest timestamp (KIP-734) is told with the offset of its record.
 * Nothing is tiered here (KIP-1005, KIP-1023): such questions are answered with -1, as Kafka does
 * without remote storage.
 */
export const listOffsetsHandler: Handler<ListOffsetsRequest, ListOffsetsResponse> = {
  api: ListOffsets,
  minVersion: 1,
  maxVersion: 11,
  handle(request: ListOffsetsRequest, context: RequestContext): HandlerResult<ListOffsetsResponse> {
    const { topics } = context.broker;
    const isReadCommitted = request.isolationLevel === READ_COMMITTED;
    const duplicates = duplicatePartitions(request);
    const answer = (name: string, partitionRequest: PartitionRequest): PartitionResponse => {
      const { partitionIndex, timestamp } = partitionRequest;
      const fail = (errorCode: number): PartitionResponse => ({ partitionIndex, errorCode });
      if (duplicates.has(keyOf(name, partitionIndex))) return fail(errorCodes.INVALID_REQUEST);
      const partition = topics.partition(name, partitionIndex);
      if (partition === undefined) return fail(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
      const epochError = leaderEpochError(partition, partitionRequest.currentLeaderEpoch);
      if (epochError !== errorCodes.NONE) return fail(epochError);
      if (timestamp < 0n && !isServed(timestamp, context.apiVersion)) {
        return fail(errorCodes.UNSUPPORTED_VERSION);
      }
      try {
        const found = find(partition, partitionRequest, isReadCommitted);
        const leaderEpoch = context.apiVersion >= EPOCHS_FROM_VERSION ? found.leaderEpoch : -1;
        return { partitionIndex, ...found, leaderEpoch };
      } catch (error) {
        return fail(context.broker.storageErrors.codeOf(error));
      }
    };
    return answerAll(request, answer);
  },
};

/** Each time that is looked for reads from the log, and may decompress a batch. */
async function answerAll(
  request: ListOffsetsRequest,
  answer: (name: string, partitionRequest: PartitionRequest) => PartitionResponse,
): Promise<Encodable<ListOffsetsResponse>> {
  const turns = new Turns(PARTITIONS_PER_TURN);
  const answers = [];
  for (const { name, partitions } of request.topics) {
    const partitionAnswers = [];
    for (const partitionRequest of partitions) {
      await turns.next();
      partitionAnswers.push(answer(name, partitionRequest));
    }
    answers.push({ name, partitions: partitionAnswers });
  }
  return { topics: answers };
}

function keyOf(topic: string, partitionIndex: number): string {
  return `${topic}-${partitionIndex}`;
}

/** Keys of the partitions that are asked for more than once: none of these questions is answered. */
function duplicatePartitions({ topics }: ListOffsetsRequest): ReadonlySet<string> {
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const { name, partitions } of topics) {
    for (const { partitionIndex } of partitions) {
      const key = keyOf(name, partitionIndex);
      if (seen.has(key)) duplicates.add(key);
      seen.add(key);
    }
  }
  return duplicates;
}

function isServed(timestamp: bigint, apiVersion: number): boolean {
  if (timestamp === LATEST || timestamp === EARLIEST) return true;
  return apiVersion >= (firstVersionOf.get(timestamp) ?? Infinity);
}

function find(
  { log }: Partition,
  { timestamp }: PartitionRequest,
  isReadCommitted: boolean,
): Omit<PartitionResponse, 'partitionIndex'> {
  const bound = isReadCommitted ? log.lastStableOffset : log.highWatermark;
  switch (timestamp) {
    case LATEST:
      return { offset: bound, leaderEpoch: log.leaderEpoch };
    case EARLIEST:
    case EARLIEST_LOCAL:
      return { offset: log.logStartOffset, leaderEpoch: epochAt(log, log.logStartOffset) };
    case LATEST_TIERED:
    case EARLIEST_PENDING_UPLOAD:
      return { offset: -1n };
    default: {
      const found =
        timestamp === MAX_TIMESTAMP
          ? log.offsetOfMaxTimestamp()
          : log.offsetForTimestamp(Number(timestamp));
      if (found === null || found.offset >= bound) return { offset: -1n };
      return {
        offset: found.offset,
        timestamp: BigInt(found.timestamp),
        leaderEpoch: found.leaderEpoch,
      };
    }
  }
}

/** The epoch that the offset was, or would have been, written under; -1 if the log does not know. */
function epochAt(log: Log, offset: bigint): number {
  return log.leaderEpochs.findLast(({ startOffset }) => startOffset <= offset)?.epoch ?? -1;
}
