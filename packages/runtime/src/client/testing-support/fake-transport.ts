import { decodeMessage, encodeMessage } from '@millrace/protocol';
import type { Api, Encodable } from '@millrace/protocol';
import { ShutdownError } from '../../errors.ts';
import type {
  ApiUse,
  Lane,
  NodeAddress,
  RequestBody,
  SendOptions,
  Transport,
} from '../transport.ts';

interface FakeRequest<Req> {
  readonly nodeId: number;
  readonly lane: Lane;
  readonly version: number;
  readonly body: Req;
}

export type FakeHandler<Req, Res> = (
  request: FakeRequest<Req>,
) => Encodable<Res> | Promise<Encodable<Res>>;

export interface SentRequest {
  readonly apiName: string;
  readonly nodeId: number;
  readonly lane: Lane;
  readonly body: unknown;
}

/**
 * Answers by script instead of by wire. Requests and answers go through their schemas, so that a body
 * which no broker could read fails here too.
 */
export class FakeTransport implements Transport {
  readonly #handlers = new Map<number, FakeHandler<never, unknown>>();
  readonly sent: SentRequest[] = [];
  nodes: readonly NodeAddress[] = [];
  isClosed = false;

  on<Req, Res>(api: Api<Req, Res>, handler: FakeHandler<Req, Res>): void {
    this.#handlers.set(api.key, handler as FakeHandler<never, unknown>);
  }

  handler<Req, Res>(api: Api<Req, Res>): FakeHandler<Req, Res> {
    const handler = this.#handlers.get(api.key) as FakeHandler<Req, Res> | undefined;
    if (handler === undefined) throw new Error(`No script for ${api.name}`);
    return handler;
  }

  /** How often an API was asked. */
  count(api: { readonly name: string }): number {
    return this.sent.filter(({ apiName }) => apiName === api.name).length;
  }

  async send<Req, Res>(
    nodeId: number,
    { api, maxVersion }: ApiUse<Req, Res>,
    body: RequestBody<Req>,
    { lane = 'main' }: SendOptions,
  ): Promise<Res> {
    this.#throwIfClosed();
    const content = (
      typeof body === 'function' ? (body as (version: number) => unknown)(maxVersion) : body
    ) as Encodable<Req>;
    const read = decodeMessage(
      api.request,
      maxVersion,
      encodeMessage(api.request, maxVersion, content),
    );
    this.sent.push({ apiName: api.name, nodeId, lane, body: read });
    const answer = await this.handler(api)({ nodeId, lane, version: maxVersion, body: read });
    this.#throwIfClosed();
    return decodeMessage(api.response, maxVersion, encodeMessage(api.response, maxVersion, answer));
  }

  #throwIfClosed(): void {
    if (this.isClosed) throw new ShutdownError('The client is closed');
  }

  /** Memory that was given back. */
  readonly recycled: ArrayBufferLike[] = [];

  recycle(memory: ArrayBufferLike): void {
    this.recycled.push(memory);
  }

  setNodes(nodes: readonly NodeAddress[]): void {
    this.nodes = nodes;
  }

  addNode(node: NodeAddress): void {
    this.nodes = [...this.nodes.filter(({ nodeId }) => nodeId !== node.nodeId), node];
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}
