import {
  DescribeCluster,
  errorCodes,
  type DescribeClusterRequest,
  type DescribeClusterResponse,
} from '@millrace/protocol';
import { CLUSTER_OPERATIONS, OPERATIONS_NOT_ASKED } from '../authorized-operations.ts';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';

const BROKERS = 1;
const CONTROLLERS = 2;

/**
 * DescribeCluster, versions 0 to 2 (KIP-700). This listener speaks for the broker; a client that asks
 * for controllers (KIP-919), or for what there is not, is told so.
 */
export const describeClusterHandler: Handler<DescribeClusterRequest, DescribeClusterResponse> = {
  api: DescribeCluster,
  minVersion: 0,
  maxVersion: 2,
  handle(
    request: DescribeClusterRequest,
    { broker }: RequestContext,
  ): HandlerResult<DescribeClusterResponse> {
    const { nodeId, host, port, clusterId } = broker.node;
    const { endpointType } = request;
    if (endpointType !== BROKERS) {
      const isKnown = endpointType === CONTROLLERS;
      return {
        errorCode: isKnown
          ? errorCodes.MISMATCHED_ENDPOINT_TYPE
          : errorCodes.UNSUPPORTED_ENDPOINT_TYPE,
        errorMessage: isKnown
          ? 'The request was sent to an endpoint of type BROKER.'
          : `Unsupported endpoint type ${endpointType}`,
        endpointType: BROKERS,
        clusterId: '',
      };
    }
    return {
      endpointType: BROKERS,
      clusterId,
      controllerId: nodeId,
      brokers: [{ brokerId: nodeId, host, port }],
      clusterAuthorizedOperations: request.includeClusterAuthorizedOperations
        ? CLUSTER_OPERATIONS
        : OPERATIONS_NOT_ASKED,
    };
  },
};
