import type { GroupClient } from '../groups/group-service.ts';
import type { RequestContext } from './handler.ts';

/** The client behind a request, as groups see it; a client without an id has an empty one. */
export function groupClient({ clientId, connection }: RequestContext): GroupClient {
  return {
    clientId: clientId ?? '',
    clientHost: connection.clientHost,
    get isClosed() {
      return connection.isClosed;
    },
    onClose: (listener) => connection.onClose(listener),
  };
}
