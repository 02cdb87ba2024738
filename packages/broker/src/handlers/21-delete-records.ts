import {
  DeleteRecords,
  errorCodes,
  type DeleteRecordsRequest,
  type DeleteRecordsResponse,
  type Encodable,
} from '@millrace/protocol';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

type PartitionResponse = Encodable<DeleteRecordsResponse['topics'][number]['partitions'][number]>;

const NO_LOW_WATERMARK = -1n;

/**
 * DeleteRecords, versions 0 to 2 (KIP-107). The log start moves at once; the answer comes when that is
 * durable (a stronger promise than Kafka's, whose log start may go back in a crash), or with
 * REQUEST_TIMED_OUT. Checks in Kafka's order: unknown partition, internal topic, a policy without
 * `delete` (also when the offset is bad), then the offset; -1 stands for the high watermark. An offset
 * below the log start succeeds and changes nothing. Partitions fail apart from each other.
 */
export const deleteRecordsHandler: Handler<DeleteRecordsRequest, DeleteRecordsResponse> = {
  api: DeleteRecords,
  minVersion: 0,
  maxVersion: 2,
  handle(
    request: DeleteRecordsRequest,
    context: RequestContext,
  ): HandlerResult<DeleteRecordsResponse> {
    const deadline = new Deadline(request.timeoutMs, context);
    const topics = request.topics.map(async ({ name, partitions }) => ({
      name,
      partitions: await Promise.all(
        partitions.map(({ partitionIndex, offset }) =>
          deadline.bound(partitionIndex, deleteOne(name, partitionIndex, offset, context)),
        ),
      ),
    }));
    return Promise.all(topics)
      .then((answered) => ({ topics: answered }))
      .finally(() => {
        deadline.end();
      });
  },
};

async function deleteOne(
  name: string,
  partitionIndex: number,
  offset: bigint,
  { broker }: RequestContext,
): Promise<PartitionResponse> {
  const fail = (errorCode: number): PartitionResponse => ({
    partitionIndex,
    lowWatermark: NO_LOW_WATERMARK,
    errorCode,
  });
  const partition = broker.topics.partition(name, partitionIndex);
  if (partition === undefined) return fail(errorCodes.UNKNOWN_TOPIC_OR_PARTITION);
  if (partition.topic.isInternal) return fail(errorCodes.INVALID_TOPIC_EXCEPTION);
  if (!partition.log.config.cleanupPolicy.delete) return fail(errorCodes.POLICY_VIOLATION);
  try {
    const lowWatermark = await partition.log.deleteRecords(offset);
    return { partitionIndex, lowWatermark };
  } catch (error) {
    return fail(broker.storageErrors.codeOf(error));
  }
}

/** The request's timeout, one timer for all its partitions. */
class Deadline {
  readonly #passed: Promise<void>;
  readonly #cancel: () => void;

  constructor(timeoutMs: number, { broker }: RequestContext) {
    let cancel = (): void => undefined;
    this.#passed = new Promise((resolve) => {
      const timer = broker.clock.setTimer(Math.max(0, timeoutMs), resolve);
      cancel = () => {
        timer.cancel();
      };
    });
    this.#cancel = cancel;
  }

  bound(partitionIndex: number, answer: Promise<PartitionResponse>): Promise<PartitionResponse> {
    const timedOut = this.#passed.then(() => ({
      partitionIndex,
      lowWatermark: NO_LOW_WATERMARK,
      errorCode: errorCodes.REQUEST_TIMED_OUT,
    }));
    return Promise.race([answer, timedOut]);
  }

  end(): void {
    this.#cancel();
  }
}
