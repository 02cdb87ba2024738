import type { Api, Encodable } from '@millrace/protocol';

/** Any broker: one that is connected, else one after the other, bootstrap servers among them. */
export const ANY_NODE = -1;

/**
 * A broker answers the requests of one connection in order, so what it may hold back (a parked fetch
 * or join) goes by a connection of its own.
 */
export type Lane = 'main' | 'parked';

export interface SendOptions {
  /** From the call to the answer, connecting included. Afterwards the connection is given up. */
  readonly timeoutMs: number;
  /** `main` by default. */
  readonly lane?: Lane;
}

export interface NodeAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

/** An API as one of our calls uses it: the versions that the call was written for. */
export interface ApiUse<Req, Res> {
  readonly api: Api<Req, Res>;
  readonly minVersion: number;
  readonly maxVersion: number;
}

export type AnyApiUse = Pick<ApiUse<unknown, unknown>, 'minVersion' | 'maxVersion'> & {
  readonly api: Pick<Api<unknown, unknown>, 'key' | 'name'>;
};

export type RequestBody<Req> = Encodable<Req> | ((version: number) => Encodable<Req>);

/**
 * Requests to brokers, as the fetcher, producer, group member and admin need them. Sends to one node
 * and lane leave in the order of the calls.
 */
export interface Transport {
  /**
   * @throws ConnectionError, TimeoutError (retriable, the outcome is unknown), UnsupportedVersionError,
   *   AuthenticationError, ShutdownError after close, ClientError for anything else
   */
  send<Req, Res>(
    nodeId: number,
    use: ApiUse<Req, Res>,
    body: RequestBody<Req>,
    options: SendOptions,
  ): Promise<Res>;
  /** All brokers of the cluster, as metadata tells. */
  setNodes(nodes: readonly NodeAddress[]): void;
  /** One more broker, as FindCoordinator tells. */
  addNode(node: NodeAddress): void;
  /** Nobody looks at this answer's bytes any more: the next may be put there. Not needed, but cheaper. */
  recycle(memory: ArrayBufferLike): void;
  readonly isClosed: boolean;
  /** Ends all connections; what is under way fails with ShutdownError. Bounded by `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}
