import {
  errorCodes,
  WriteTxnMarkers,
  type WriteTxnMarkersRequest,
  type WriteTxnMarkersResponse,
} from '@millrace/protocol';
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
    return {
      markers: await Promise.all(
        markers.map(async ({ producerId, topics, transactionResult, ...marker }) => ({
          producerId,
          topics: await Promise.all(
            topics.map(async ({ name, partitionIndexes }) => ({
              name,
              partitions: await Promise.all(
                partitionIndexes.map(async (partitionIndex) => ({
                  partitionIndex,
                  errorCode: await write(
                    name,
                    partitionIndex,
                    { ...marker, producerId, isCommit: transactionResult },
                    context,
                  ),
                })),
              ),
            })),
          ),
        })),
      ),
    };
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
