import {
  ApiVersions,
  errorCodes,
  type ApiVersionsRequest,
  type ApiVersionsResponse,
} from '@millrace/protocol';
import type { Handler, HandlerResult, RequestContext } from './handler.ts';
import type { HandlerRegistry } from './registry.ts';

/** KIP-511: what a client may call itself. */
const SOFTWARE_NAME = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/;

/**
 * ApiVersions, versions 0 to 4. Its response header is version 0 in all of them; a version that is not
 * served is answered by the dispatcher in version 0 with UNSUPPORTED_VERSION and this API's range
 * (KIP-511). Version 5 (KIP-1242, a check that the right node was reached) is left out, and clients
 * fall back. No features are listed, so that clients stay with the classic transaction protocol.
 */
export function apiVersionsHandler(
  registry: HandlerRegistry,
): Handler<ApiVersionsRequest, ApiVersionsResponse> {
  return {
    api: ApiVersions,
    minVersion: 0,
    maxVersion: 4,
    handle(
      request: ApiVersionsRequest,
      context: RequestContext,
    ): HandlerResult<ApiVersionsResponse> {
      if (context.apiVersion >= 3) {
        const { clientSoftwareName, clientSoftwareVersion } = request;
        if (!SOFTWARE_NAME.test(clientSoftwareName) || !SOFTWARE_NAME.test(clientSoftwareVersion)) {
          return { errorCode: errorCodes.INVALID_REQUEST };
        }
        context.connection.clientSoftwareName = clientSoftwareName;
        context.connection.clientSoftwareVersion = clientSoftwareVersion;
      }
      return {
        apiKeys: registry.all().map(({ api, minVersion, maxVersion, advertisedMinVersion }) => ({
          apiKey: api.key,
          minVersion: advertisedMinVersion ?? minVersion,
          maxVersion,
        })),
      };
    },
  };
}
