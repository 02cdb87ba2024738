import { InvalidRecordError, InvalidTimestampError } from '@millrace/compaction';
import {
  errorByCode,
  errorCodes,
  Produce,
  type Encodable,
  type ProduceRequest,
  type ProduceResponse,
} from '@millrace/protocol';
import { storageErrorCode } from '../storage-errors.ts';
import type { Partition, Topic } from '../topics/topic.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type PartitionRequest = ProduceRequest['topicData'][number]['partitionData'][number];
type PartitionResponse = Encodable<
  ProduceResponse['responses'][number]['partitionResponses'][number]
>;

const ACKS_ALL = -1;
const TOPIC_IDS_FROM_VERSION = 13;
const ZSTD_FROM_VERSION = 7;

/** Where a batch says its format, its codec and whether it belongs to a transaction. */
const MAGIC_POSITION = 16;
const ATTRIBUTES_LOW_BYTE_POSITION = 22;
const CODEC_MASK = 0x07;
const ZSTD_CODEC = 4;
const TRANSACTIONAL_BIT = 0x10;
const MAGIC_V2 = 2;

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
 * Left out until the transaction coordinator is there: transactional batches, refused with
 * INVALID_TXN_STATE so that no transaction stays open for ever.
 */
export const produceHandler: Handler<ProduceRequest, ProduceResponse> = {
  api: Produce,
  minVersion: 3,
  maxVersion: 13,
  advertisedMinVersion: 0,
  handle(request: ProduceRequest, context: RequestContext): HandlerResult<ProduceResponse> {
    const { topics } = context.broker;
    const byId = context.apiVersion >= TOPIC_IDS_FROM_VERSION;
    let failure: number | undefined;
    const responses = request.topicData.map(({ name, topicId, partitionData }) => {
      const topic = byId ? topics.getById(topicId) : topics.get(name);
      return {
        name,
        topicId,
        partitionResponses: partitionData.map((partitionRequest) => {
          const answer = produce(topic, partitionRequest, request, context);
          if (answer.errorCode !== errorCodes.NONE) failure ??= answer.errorCode;
          return answer;
        }),
      };
    });
    if (request.acks !== 0) return { responses };
    if (failure !== undefined) {
      context.connection.close(
        `produce with acks=0 from client ${context.clientId ?? '(none)'} failed: ${errorByCode(failure).name}`,
      );
    }
    return null;
  },
};

function produce(
  topic: Topic | undefined,
  request: PartitionRequest,
  { acks, transactionalId }: ProduceRequest,
  context: RequestContext,
): PartitionResponse & { errorCode: number } {
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
  if (records === null || records.length <= ATTRIBUTES_LOW_BYTE_POSITION) {
    return refuse(index, errorCodes.INVALID_RECORD, 'the request holds no record batch');
  }
  if (records[MAGIC_POSITION] !== MAGIC_V2) {
    return refuse(
      index,
      errorCodes.INVALID_RECORD,
      `record format ${records[MAGIC_POSITION] ?? 0} is not taken, only 2`,
    );
  }
  const attributes = records[ATTRIBUTES_LOW_BYTE_POSITION] as number;
  if ((attributes & CODEC_MASK) === ZSTD_CODEC && context.apiVersion < ZSTD_FROM_VERSION) {
    return refuse(index, errorCodes.UNSUPPORTED_COMPRESSION_TYPE);
  }
  if (transactionalId !== null || (attributes & TRANSACTIONAL_BIT) !== 0) {
    return refuse(index, errorCodes.INVALID_TXN_STATE, 'this broker has no transactions yet');
  }
  return append(partition, records, context);
}

function append(
  { index, log }: Partition,
  records: Buffer,
  { broker }: RequestContext,
): PartitionResponse & { errorCode: number } {
  try {
    const result = log.appendAsLeader(records, {
      leaderEpoch: log.leaderEpoch,
      origin: 'client',
    });
    return {
      index,
      errorCode: errorCodes.NONE,
      baseOffset: result.firstOffset,
      logAppendTimeMs: BigInt(result.logAppendTime),
      logStartOffset: result.logStartOffset,
    };
  } catch (error) {
    const hasRecords =
      error instanceof InvalidRecordError || error instanceof InvalidTimestampError;
    return {
      ...refuse(index, storageErrorCode(error, broker.logger), (error as Error).message),
      recordErrors: hasRecords
        ? error.recordErrors.map(({ batchIndex, message }) => ({
            batchIndex,
            batchIndexErrorMessage: message,
          }))
        : [],
    };
  }
}

function refuse(
  index: number,
  errorCode: number,
  errorMessage: string | null = null,
): PartitionResponse & { errorCode: number } {
  return { index, errorCode, errorMessage, baseOffset: -1n, logStartOffset: -1n };
}
