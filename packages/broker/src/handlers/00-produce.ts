import { InvalidRecordError, InvalidTimestampError } from '@millrace/compaction';
import {
  errorByCode,
  errorCodes,
  Produce,
  type Encodable,
  type ProduceRequest,
  type ProduceResponse,
} from '@millrace/protocol';
import { Turns } from '../end-of-turn.ts';
import { PARTITIONS_PER_TURN } from '../limits.ts';
import type { Partition, Topic } from '../topics/topic.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';
import { producedBatch } from './produced-batch.ts';
import { verificationErrorCode } from './transactional-errors.ts';

type TopicRequest = ProduceRequest['topicData'][number];
type PartitionRequest = TopicRequest['partitionData'][number];
type PartitionResponse = Encodable<
  ProduceResponse['responses'][number]['partitionResponses'][number]
>;

/** Mutable: what was appended but could not be made durable is told as failed. */
type PartitionAnswer = { -readonly [K in keyof PartitionResponse]: PartitionResponse[K] } & {
  errorCode: number;
};

interface Flush {
  readonly answer: PartitionAnswer;
  readonly flushed: Promise<void>;
}

const ACKS_ALL = -1;
const TOPIC_IDS_FROM_VERSION = 13;
/** From here on TRANSACTION_ABORTABLE is known (KIP-890). */
const ABORTABLE_FROM_VERSION = 11;

/** Where a batch says whether it belongs to a transaction, and whose it is. */
const ATTRIBUTES_LOW_BYTE_POSITION = 22;
const PRODUCER_ID_POSITION = 43;
const PRODUCER_EPOCH_POSITION = 51;
const TRANSACTIONAL_BIT = 0x10;

/**
 * Produce, versions 3 to 13; ApiVersions shows 0 to 13, since older librdkafka turns compression off
 * otherwise (KAFKA-18659).
 *
 * One record batch of format v2 per partition, checked and appended by the log; partitions fail apart
 * from each other. There is one replica, so acks=all is complete with the append; min.insync.replicas
 * above one is refused with NOT_ENOUGH_REPLICAS. acks=0 is not answered; an error of it closes the
 * connection, as that is all a client can notice. A repeat of one of a producer's last five batches is
 * answered with its first offset. Codec zstd needs version 7 (KIP-110).
 *
 * A transactional batch is taken only while its producer has an ongoing transaction that holds the
 * partition (KIP-890's verification, without transaction version 2: no version adds partitions by itself):
 * INVALID_TXN_STATE, from version 11 on TRANSACTION_ABORTABLE. Such a batch under no transactional id is
 * nobody's: TRANSACTIONAL_ID_AUTHORIZATION_FAILED for the whole request, as in Kafka.
 */
export const produceHandler: Handler<ProduceRequest, ProduceResponse> = {
  api: Produce,
  minVersion: 3,
  maxVersion: 13,
  advertisedMinVersion: 0,
  handle(request: ProduceRequest, context: RequestContext): HandlerResult<ProduceResponse> {
    const { topics } = context.broker;
    const byId = context.apiVersion >= TOPIC_IDS_FROM_VERSION;
    const isRefused = request.transactionalId === null && hasTransactionalBatch(request);
    const flushes: Flush[] = [];
    const answer = ({ name, topicId }: TopicRequest, of: PartitionRequest): PartitionAnswer =>
      isRefused
        ? refuse(of.index, errorCodes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        : produce(byId ? topics.getById(topicId) : topics.get(name), of, request, context, flushes);
    const partitionCount = request.topicData.reduce(
      (sum, { partitionData }) => sum + partitionData.length,
      0,
    );
    if (partitionCount > PARTITIONS_PER_TURN) {
      return answerInTurns(request, answer).then(async (responses) => {
        await waitForFlushes(flushes, context);
        return conclude(request, { responses }, context);
      });
    }
    const response = {
      responses: request.topicData.map((topicRequest) => ({
        name: topicRequest.name,
        topicId: topicRequest.topicId,
        partitionResponses: topicRequest.partitionData.map((of) => answer(topicRequest, of)),
      })),
    };
    if (flushes.length === 0) return conclude(request, response, context);
    return waitForFlushes(flushes, context).then(() => conclude(request, response, context));
  },
};

interface TopicAnswer {
  readonly name: string;
  readonly topicId: string;
  readonly partitionResponses: readonly PartitionAnswer[];
}

interface Answer {
  readonly responses: readonly TopicAnswer[];
}

/** So many partitions that others would wait too long for their turn. */
async function answerInTurns(
  { topicData }: ProduceRequest,
  answer: (topic: TopicRequest, of: PartitionRequest) => PartitionAnswer,
): Promise<TopicAnswer[]> {
  const turns = new Turns(PARTITIONS_PER_TURN);
  const answers: TopicAnswer[] = [];
  for (const topicRequest of topicData) {
    const partitionResponses: PartitionAnswer[] = [];
    for (const of of topicRequest.partitionData) {
      await turns.next();
      partitionResponses.push(answer(topicRequest, of));
    }
    const { name, topicId } = topicRequest;
    answers.push({ name, topicId, partitionResponses });
  }
  return answers;
}

/** acks=0: no answer, and a closed connection if anything failed. */
function conclude<A extends Answer>(
  { acks }: ProduceRequest,
  response: A,
  { connection, clientId }: RequestContext,
): A | null {
  if (acks !== 0) return response;
  for (const { partitionResponses } of response.responses) {
    const failed = partitionResponses.find(({ errorCode }) => errorCode !== errorCodes.NONE);
    if (failed === undefined) continue;
    const { name } = errorByCode(failed.errorCode);
    connection.close(`produce with acks=0 from client ${clientId ?? '(none)'} failed: ${name}`);
    break;
  }
  return null;
}

function produce(
  topic: Topic | undefined,
  request: PartitionRequest,
  { acks, transactionalId }: ProduceRequest,
  context: RequestContext,
  flushes: Flush[],
): PartitionAnswer {
  const { index, records } = request;
  const partition = topic?.partitions[index];
  if (partition === undefined) {
    const isUnknownId = context.apiVersion >= TOPIC_IDS_FROM_VERSION && topic === undefined;
    return refuse(
      index,
      isUnknownId ? errorCodes.UNKNOWN_TOPIC_ID : errorCodes.UNKNOWN_TOPIC_OR_PARTITION,
    );
  }
  if (acks < ACKS_ALL || acks > 1) return refuse(index, errorCodes.INVALID_REQUIRED_ACKS);
  if (partition.topic.isInternal) return refuse(index, errorCodes.INVALID_TOPIC_EXCEPTION);
  if (acks === ACKS_ALL && partition.log.config.minInsyncReplicas > 1) {
    return refuse(
      index,
      errorCodes.NOT_ENOUGH_REPLICAS,
      `min.insync.replicas is ${partition.log.config.minInsyncReplicas}, there is one replica`,
    );
  }
  const batch = producedBatch(records, context.apiVersion);
  if (!Buffer.isBuffer(batch)) return refuse(index, batch.errorCode, batch.message);
  const attributes = batch[ATTRIBUTES_LOW_BYTE_POSITION] as number;
  if (transactionalId !== null && (attributes & TRANSACTIONAL_BIT) !== 0) {
    const errorCode = verify(partition, batch, transactionalId, context);
    if (errorCode !== errorCodes.NONE) {
      const message = 'the partition is in no ongoing transaction of this producer';
      return refuse(index, errorCode, message);
    }
  }
  return append(partition, batch, context, flushes);
}

function hasTransactionalBatch({ topicData }: ProduceRequest): boolean {
  return topicData.some(({ partitionData }) =>
    partitionData.some(
      ({ records }) =>
        records !== null &&
        records.length > ATTRIBUTES_LOW_BYTE_POSITION &&
        ((records[ATTRIBUTES_LOW_BYTE_POSITION] as number) & TRANSACTIONAL_BIT) !== 0,
    ),
  );
}

/** Damaged headers are for the log to refuse; one that is too short for a producer has none. */
function verify(
  { topic, index }: Partition,
  records: Buffer,
  transactionalId: string,
  { apiVersion, broker }: RequestContext,
): number {
  if (records.length < PRODUCER_EPOCH_POSITION + 2) return errorCodes.NONE;
  const producerId = records.readBigInt64BE(PRODUCER_ID_POSITION);
  const producerEpoch = records.readInt16BE(PRODUCER_EPOCH_POSITION);
  return verificationErrorCode(
    broker.transactions.verify({ transactionalId, producerId, producerEpoch }, topic.name, index),
    apiVersion >= ABORTABLE_FROM_VERSION,
  );
}

function append(
  { index, log, leaderEpoch }: Partition,
  records: Buffer,
  { broker }: RequestContext,
  flushes: Flush[],
): PartitionAnswer {
  try {
    const result = log.appendAsLeader(records, {
      leaderEpoch,
      origin: 'client',
    });
    const answer = {
      index,
      errorCode: errorCodes.NONE as number,
      baseOffset: result.firstOffset,
      logAppendTimeMs: BigInt(result.logAppendTime),
      logStartOffset: result.logStartOffset,
    };
    const flushed = log.flushIfDue();
    if (flushed !== undefined) flushes.push({ answer, flushed });
    return answer;
  } catch (error) {
    const hasRecords =
      error instanceof InvalidRecordError || error instanceof InvalidTimestampError;
    return {
      ...refuse(index, broker.storageErrors.codeOf(error), (error as Error).message),
      recordErrors: hasRecords
        ? error.recordErrors.map(({ batchIndex, message }) => ({
            batchIndex,
            batchIndexErrorMessage: message,
          }))
        : [],
    };
  }
}

/** flush.messages: nothing is acknowledged before it is on disk. */
async function waitForFlushes(
  flushes: readonly Flush[],
  { broker }: RequestContext,
): Promise<void> {
  await Promise.all(
    flushes.map(async ({ answer, flushed }) => {
      try {
        await flushed;
      } catch (error) {
        answer.errorCode = broker.storageErrors.codeOf(error);
        answer.errorMessage = (error as Error).message;
        answer.baseOffset = -1n;
      }
    }),
  );
}

function refuse(
  index: number,
  errorCode: number,
  errorMessage: string | null = null,
): PartitionAnswer {
  return { index, errorCode, errorMessage, baseOffset: -1n, logStartOffset: -1n };
}
