import {
  errorCodes,
  Fetch,
  type Encodable,
  type FetchRequest,
  type FetchResponse,
} from '@millrace/protocol';

import { toError } from '../errors.ts';
import type { StorageErrors } from '../storage-errors.ts';
import { leaderEpochError } from '../topics/leader-epoch.ts';
import type { Partition } from '../topics/topic.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type PartitionRequest = FetchRequest['topics'][number]['partitions'][number];
type PartitionResponse = Encodable<FetchResponse['responses'][number]['partitions'][number]>;

const READ_COMMITTED = 1;

/** Epochs of a full fetch, whatever its session id: one that would begin a session, and one without. */
const FIRST_EPOCH = 0;
const NO_SESSION = -1;

const TOPIC_IDS_FROM_VERSION = 13;
const EMPTY_RECORDS = Buffer.alloc(0);

/**
 * Fetch, versions 4 to 17.
 *
 * Raw batches as they lie in the log, at most the high watermark, or the last stable offset with the
 * list of aborted transactions (read committed). The first batch of the first partition that has any
 * goes out whole whatever the limits (KIP-74); later partitions get what is left. A fetch that finds
 * less than its minimum is parked until appends bring it, or its time is up.
 *
 * Sessions (KIP-227) are lawfully absent: every answer has session id 0, so that clients send full
 * fetches; one that goes on with a session is told that there is none. Topics go by id from version 13
 * (KIP-516). Divergence is told to a client that gives its last epoch (KIP-595). Left out: preferred
 * read replicas (KIP-392, there is one replica). Fetches of followers are a later part's; until then
 * this node is the only replica of everything, and refuses others.
 */
export const fetchHandler: Handler<FetchRequest, FetchResponse> = {
  api: Fetch,
  minVersion: 4,
  maxVersion: 17,
  handle(request: FetchRequest, context: RequestContext): HandlerResult<FetchResponse> {
    const { sessionEpoch } = request;
    if (sessionEpoch !== FIRST_EPOCH && sessionEpoch !== NO_SESSION) {
      return { errorCode: errorCodes.FETCH_SESSION_ID_NOT_FOUND, sessionId: 0, responses: [] };
    }
    const first = readAll(request, context);
    if (
      request.maxWaitMs <= 0 ||
      first.hasError ||
      first.partitions.length === 0 ||
      first.bytes >= request.minBytes
    ) {
      return first.response;
    }
    return park(request, context, first.partitions, first.bytes);
  },
};

interface Attempt {
  readonly response: Encodable<FetchResponse>;
  /** Bytes of records in the response. */
  readonly bytes: number;
  readonly hasError: boolean;
  readonly partitions: readonly Partition[];
}

/** Of what was found first only the size is kept: a waiting fetch holds no records. */
function park(
  request: FetchRequest,
  context: RequestContext,
  partitions: readonly Partition[],
  firstBytes: number,
): Promise<Encodable<FetchResponse>> {
  return new Promise((resolve, reject) => {
    let foundBytes = firstBytes;
    let sizeBytes = sizeOf(partitions);
    let waitsForOutcomes = hasOpenTransaction(request, partitions);
    let takeBackCloseListener = (): void => undefined;
    /** True if the fetch is done with, one way or the other. */
    const look = (isLast: boolean): boolean => {
      let attempt: Attempt;
      try {
        attempt = readAll(request, context);
      } catch (error) {
        takeBackCloseListener();
        reject(toError(error));
        return true;
      }
      if (!isLast && attempt.bytes < request.minBytes && !attempt.hasError) {
        foundBytes = attempt.bytes;
        sizeBytes = sizeOf(partitions);
        waitsForOutcomes = hasOpenTransaction(request, partitions);
        return false;
      }
      takeBackCloseListener();
      resolve(attempt.response);
      return true;
    };
    // Reading again after every append would cost a client with a large minimum all that it saves. What
    // does not grow the log (a deletion) can be told by a look only, and so can a marker, which is small
    // itself but lets go of what was there before.
    const mayBeEnough = (): boolean => {
      if (request.minBytes <= 1 || waitsForOutcomes) return true;
      const grownBytes = sizeOf(partitions) - sizeBytes;
      return grownBytes <= 0 || foundBytes + grownBytes >= request.minBytes;
    };
    const release = context.broker.purgatory.park({
      partitions,
      maxWaitMs: request.maxWaitMs,
      tryComplete: () => mayBeEnough() && look(false),
      complete: () => {
        look(true);
      },
    });
    takeBackCloseListener = context.connection.onClose(release);
  });
}

function hasOpenTransaction(request: FetchRequest, partitions: readonly Partition[]): boolean {
  if (request.isolationLevel !== READ_COMMITTED) return false;
  return partitions.some(({ log }) => log.lastStableOffset < log.highWatermark);
}

function sizeOf(partitions: readonly Partition[]): number {
  return partitions.reduce((sum, { log }) => sum + log.sizeInBytes, 0);
}

function readAll(request: FetchRequest, context: RequestContext): Attempt {
  const { topics, config, responseMemory } = context.broker;
  const byId = context.apiVersion >= TOPIC_IDS_FROM_VERSION;
  const reader = new FetchReader(
    Math.min(request.maxBytes, config['fetch.max.bytes'], responseMemory.availableBytes),
    request.isolationLevel === READ_COMMITTED,
    context.broker.storageErrors,
  );
  const isFollower = request.replicaId >= 0 || request.replicaState.replicaId >= 0;
  const responses = request.topics.map((requested) => {
    const topic = byId ? topics.getById(requested.topicId) : topics.get(requested.topic);
    const unknown = byId ? errorCodes.UNKNOWN_TOPIC_ID : errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
    return {
      topic: requested.topic,
      topicId: requested.topicId,
      partitions: requested.partitions.map((partitionRequest) => {
        const partition = topic?.partitions[partitionRequest.partition];
        if (partition !== undefined) {
          return isFollower
            ? reader.fail(partition.index, errorCodes.NOT_LEADER_OR_FOLLOWER)
            : reader.read(partition, partitionRequest);
        }
        return reader.fail(
          partitionRequest.partition,
          topic === undefined ? unknown : errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
        );
      }),
    };
  });
  return {
    response: { sessionId: 0, responses },
    bytes: reader.bytes,
    hasError: reader.hasError,
    partitions: reader.partitions,
  };
}

/** Reads partition after partition within one answer's budget. */
class FetchReader {
  bytes = 0;
  hasError = false;
  readonly partitions: Partition[] = [];
  readonly #isReadCommitted: boolean;
  readonly #maxBytes: number;
  readonly #storageErrors: StorageErrors;

  constructor(maxBytes: number, isReadCommitted: boolean, storageErrors: StorageErrors) {
    this.#maxBytes = maxBytes;
    this.#isReadCommitted = isReadCommitted;
    this.#storageErrors = storageErrors;
  }

  fail(partitionIndex: number, errorCode: number): PartitionResponse {
    this.hasError = true;
    return {
      partitionIndex,
      errorCode,
      highWatermark: -1n,
      lastStableOffset: -1n,
      logStartOffset: -1n,
      abortedTransactions: null,
      records: EMPTY_RECORDS,
    };
  }

  read(partition: Partition, request: PartitionRequest): PartitionResponse {
    const { log } = partition;
    const epochError = leaderEpochError(partition, request.currentLeaderEpoch);
    if (epochError !== errorCodes.NONE) return this.fail(partition.index, epochError);
    const diverging = this.#divergence(partition, request);
    if (diverging !== null) return diverging;
    try {
      const isFirst = this.bytes === 0;
      const maxBytes = Math.min(request.partitionMaxBytes, this.#maxBytes - this.bytes);
      const result = log.read(request.fetchOffset, Math.max(0, maxBytes), {
        isolation: this.#isReadCommitted ? 'readCommitted' : 'readUncommitted',
        minOneBatch: isFirst,
      });
      this.bytes += result.records.length;
      this.partitions.push(partition);
      return {
        partitionIndex: partition.index,
        highWatermark: result.highWatermark,
        lastStableOffset: result.lastStableOffset,
        logStartOffset: result.logStartOffset,
        abortedTransactions: this.#isReadCommitted ? result.abortedTransactions : null,
        records: result.records,
      };
    } catch (error) {
      return this.fail(partition.index, this.#storageErrors.codeOf(error));
    }
  }

  /** KIP-595: where the client's history leaves ours, told instead of records. */
  #divergence(partition: Partition, request: PartitionRequest): PartitionResponse | null {
    if (request.lastFetchedEpoch < 0) return null;
    const { log } = partition;
    const { epoch, endOffset } = log.endOffsetForEpoch(request.lastFetchedEpoch);
    if (epoch === request.lastFetchedEpoch && endOffset >= request.fetchOffset) return null;
    if (epoch < 0 || endOffset < 0n)
      return this.fail(partition.index, errorCodes.OFFSET_OUT_OF_RANGE);
    this.hasError = true;
    return {
      partitionIndex: partition.index,
      highWatermark: log.highWatermark,
      lastStableOffset: log.lastStableOffset,
      logStartOffset: log.logStartOffset,
      divergingEpoch: { epoch, endOffset },
      abortedTransactions: null,
      records: EMPTY_RECORDS,
    };
  }
}
