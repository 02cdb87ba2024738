import type { Api, Encodable } from '@millrace/protocol';
import type { BrokerServices } from '../services.ts';

/** What a handler may know and do about the connection that a request came on. */
export interface ClientConnection {
  /** Unique while the broker runs; for logs. */
  readonly id: number;
  /** The client's address without port, as Kafka shows it in DescribeGroups: `/127.0.0.1`. */
  readonly clientHost: string;
  /** Name and version that the client gave in ApiVersions v3+ (KIP-511); empty before. */
  clientSoftwareName: string;
  clientSoftwareVersion: string;
  readonly isClosed: boolean;
  /** Calls the listener once, when the connection is gone; the result takes it back. */
  onClose(listener: () => void): () => void;
  /** Ends the connection, with one log line that gives the reason. */
  close(reason: string): void;
}

/** One request's surroundings. */
export interface RequestContext {
  readonly apiVersion: number;
  readonly clientId: string | null;
  readonly connection: ClientConnection;
  readonly broker: BrokerServices;
}

/**
 * The answer; fields left out take their defaults. `null`: nothing is sent back (produce with acks=0
 * is the only lawful case).
 */
export type HandlerResult<Response> =
  Encodable<Response> | null | Promise<Encodable<Response> | null>;

/**
 * One API key. A handler answers with Kafka's error codes; what it throws is a fault of ours and is
 * answered by closing the connection, since not every schema can carry UNKNOWN_SERVER_ERROR.
 *
 * Requests of one connection are handled one after the other, so an answer that comes later (a parked
 * fetch, a join) holds back that connection only. A handler that has its answer at once should return
 * it plainly: a promise costs the produce path a turn of the loop.
 */
export interface Handler<Request, Response> {
  readonly api: Api<Request, Response>;
  /** Versions advertised and served; both inclusive and within the schema's own range. */
  readonly minVersion: number;
  readonly maxVersion: number;
  /** Shown in ApiVersions in place of `minVersion`; see produce, which shows more than it serves. */
  readonly advertisedMinVersion?: number;
  handle(request: Request, context: RequestContext): HandlerResult<Response>;
}
