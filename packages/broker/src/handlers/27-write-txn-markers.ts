import {
  errorCodes,
  WriteTxnMarkers,
  type Encodable,
  type WriteTxnMarkersRequest,
  type WriteTxnMarkersResponse,
} from '@millrace/protocol';
import { Turns } from '../end-of-turn.ts';
import { PARTITIONS_PER_TURN } from '../limits.ts';
import type { Marker } from '../transactions/markers.ts';
import type { Handler, RequestContext } from './handler.ts';

/**
 * WriteTxnMarkers, version 1.
 *
 * Markers from outside: how an administrator ends a transaction whose coordinator has forgotten it
 * (KIP-664). A partition that has seen a later epoch of the producer or of its coordinator refuses them.
 * Version 2 tells how strictly that is looked at under transaction version 2 and is left out.
 */
export const writeTxnMarkersHandler: Handler<WriteTxnMarkersRequest, WriteTxnMarkersResponse> = {
  api: WriteTxnMarkers,
  minVersion: 1,
  maxVersion: 1,
  async handle({ markers }, context) {
    const turns = new Turns(PARTITIONS_PER_TURN);
    const answers: Encodable<WriteTxnMarkersResponse['markers'][number]>[] = [];
    for (const { producerId, topics, transactionResult, ...rest } of markers) {
      const marker = { ...rest, producerId, isCommit: transactionResult };
      const topicAnswers = [];
      for (const { name, partitionIndexes } of topics) {
        const partitions = [];
        for (const partitionIndex of partitionIndexes) {
          await turns.next();
          partitions.push(
            write(name, partitionIndex, marker, context).then((errorCode) => ({
              partitionIndex,
              errorCode,
            })),
          );
        }
        topicAnswers.push({ name, partitions: await Promise.all(partitions) });
      }
      answers.push({ producerId, topics: topicAnswers });
    }
    return { markers: answers };
  },
};

async function write(
  topic: string,
  partition: number,
  marker: Marker,
  { broker }: RequestContext,
): Promise<number> {
  try {
    const { isThere, flushed } = broker.transactions.markers.write(topic, partition, marker);
    await flushed;
    return isThere ? errorCodes.NONE : errorCodes.UNKNOWN_TOPIC_OR_PARTITION;
  } catch (error) {
    return broker.storageErrors.codeOf(error);
  }
}
