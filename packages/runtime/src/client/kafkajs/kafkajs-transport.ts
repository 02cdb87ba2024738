import type { Logger } from 'pino';
import { decodeResponse } from '@millrace/protocol';
import type { Encodable } from '@millrace/protocol';
import { ShutdownError, TimeoutError } from '../../errors.ts';
import type { Clock, Timer } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import { ConnectionError } from '../errors.ts';
import { ResponseMemory } from '../response-memory.ts';
import { ANY_NODE } from '../transport.ts';
import type {
  AnyApiUse,
  ApiUse,
  Lane,
  NodeAddress,
  RequestBody,
  SendOptions,
  Transport,
} from '../transport.ts';
import { withDeadline } from '../with-deadline.ts';
import { fromKafkaJs } from './errors.ts';
import type { KafkaJsCluster } from './internals.ts';
import { NodeLink } from './node-link.ts';

export interface KafkaJsTransportOptions {
  readonly cluster: KafkaJsCluster;
  readonly requiredUses: readonly AnyApiUse[];
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

interface PendingSend {
  readonly timer: Timer;
  reject(error: Error): void;
}

/** Our requests over kafkajs's connections; brokers and their addresses come from our own metadata. */
export class KafkaJsTransport implements Transport {
  readonly #options: KafkaJsTransportOptions;
  readonly #addresses = new Map<number, NodeAddress>();
  readonly #links = new Map<number, NodeLink>();
  readonly #memory = new ResponseMemory();
  #bootstrap: NodeLink | null = null;
  #nextCandidate = 0;
  readonly #pending = new Set<PendingSend>();
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: KafkaJsTransportOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send<Req, Res>(
    nodeId: number,
    use: ApiUse<Req, Res>,
    body: RequestBody<Req>,
    { timeoutMs, lane = 'main' }: SendOptions,
  ): Promise<Res> {
    if (this.#isClosed) return Promise.reject(new ShutdownError('The client is closed'));
    const link = nodeId === ANY_NODE ? this.#anyLink() : this.#link(nodeId);
    if (link === undefined) {
      return Promise.reject(
        new ConnectionError(`Broker ${nodeId} is not known`, { context: { node: nodeId } }),
      );
    }
    return new Promise((resolve, reject) => {
      const timer = this.#options.clock.setTimer(timeoutMs, () => {
        const error = new TimeoutError(
          `${use.api.name} to ${link.name} was not answered within ${timeoutMs} ms`,
          { context: { api: use.api.name, broker: link.name } },
        );
        settle(() => {
          reject(error);
        });
        link.fail(error);
      });
      const pending = {
        timer,
        reject: (error: Error) => {
          settle(() => {
            reject(error);
          });
        },
      };
      const settle = (settleWith: () => void): void => {
        timer.cancel();
        if (this.#pending.delete(pending)) settleWith();
      };
      this.#pending.add(pending);

      const write = (): void => {
        if (!this.#pending.has(pending)) return;
        this.#exchange(link, lane, use, body).then((response) => {
          settle(() => {
            resolve(response);
          });
        }, fail);
      };
      const fail = (error: unknown): void => {
        const doing = `${use.api.name} to ${link.name}`;
        pending.reject(fromKafkaJs(error, doing, { api: use.api.name, broker: link.name }));
      };
      const prepared = link.prepare(lane);
      if (prepared === null) write();
      else prepared.then(write, fail);
    });
  }

  setNodes(nodes: readonly NodeAddress[]): void {
    this.#addresses.clear();
    for (const node of nodes) this.#addresses.set(node.nodeId, node);
    for (const [nodeId, link] of this.#links) {
      const address = this.#addresses.get(nodeId);
      if (address !== undefined && leadsTo(link, address)) continue;
      this.#links.delete(nodeId);
      this.#end(link);
    }
    this.#adoptBootstrap();
  }

  addNode(node: NodeAddress): void {
    const { nodeId } = node;
    this.#addresses.set(nodeId, node);
    const link = this.#links.get(nodeId);
    if (link !== undefined && !leadsTo(link, node)) {
      this.#links.delete(nodeId);
      this.#end(link);
    }
    this.#adoptBootstrap();
  }

  recycle(memory: ArrayBufferLike): void {
    this.#memory.give(memory);
  }

  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    for (const pending of this.#pending) pending.reject(new ShutdownError('The client is closed'));
    const shutdown = new ShutdownError('The client is closed');
    for (const link of this.#links.values()) this.#end(link, shutdown);
    if (this.#bootstrap !== null) this.#end(this.#bootstrap, shutdown);
    this.#links.clear();
    this.#bootstrap = null;
    const timedOut = new TimeoutError(`Connections were not closed within ${timeoutMs} ms`);
    await withDeadline(
      this.#options.clock,
      timeoutMs,
      Promise.all(this.#closing),
      () => timedOut,
    ).catch((error: unknown) => {
      this.#options.logger.debug({ err: error }, 'connections left to the system');
    });
  }

  async #exchange<Req, Res>(
    link: NodeLink,
    lane: Lane,
    use: ApiUse<Req, Res>,
    body: RequestBody<Req>,
  ): Promise<Res> {
    const version = link.pickVersion(use);
    const payload = await link.send(lane, use.api, version, contentFor(body, version));
    const response = decodeResponse(use.api, version, payload);
    const { throttleTimeMs } = response as { readonly throttleTimeMs?: number };
    if (throttleTimeMs !== undefined && throttleTimeMs > 0) link.throttle(lane, throttleTimeMs);
    return response;
  }

  #link(nodeId: number): NodeLink | undefined {
    const link = this.#links.get(nodeId);
    if (link !== undefined && !link.isBroken) return link;
    if (link !== undefined) this.#end(link);
    const address = this.#addresses.get(nodeId);
    if (address === undefined) {
      this.#links.delete(nodeId);
      return undefined;
    }
    const fresh = this.#newLink(address);
    this.#links.set(nodeId, fresh);
    return fresh;
  }

  /**
   * A connected broker by chance; without one, each known broker and each bootstrap server in turn, so
   * that a cluster that came back under other addresses is found through the bootstrap servers.
   */
  #anyLink(): NodeLink {
    const ready = [...this.#links.values()].filter((link) => link.isReady);
    if (this.#bootstrap?.isReady === true) ready.push(this.#bootstrap);
    const picked = ready[Math.floor(this.#options.random() * ready.length)];
    if (picked !== undefined) return picked;

    const nodeIds = [...this.#addresses.keys()];
    // Every other try goes to a bootstrap server.
    const turn = this.#nextCandidate++;
    const nodeId = turn % 2 === 0 ? nodeIds[(turn / 2) % nodeIds.length] : undefined;
    const known = nodeId === undefined ? undefined : this.#link(nodeId);
    if (known !== undefined) return known;
    if (this.#bootstrap !== null && !this.#bootstrap.isBroken) return this.#bootstrap;
    if (this.#bootstrap !== null) this.#end(this.#bootstrap);
    return (this.#bootstrap = this.#newLink(null));
  }

  #newLink(address: NodeAddress | null): NodeLink {
    return new NodeLink(this.#options.cluster, address, this.#options.requiredUses, this.#memory);
  }

  /** The bootstrap connection becomes the broker's own if it leads there; otherwise it has done its work. */
  #adoptBootstrap(): void {
    const bootstrap = this.#bootstrap;
    if (bootstrap === null || !bootstrap.isReady) return;
    for (const address of this.#addresses.values()) {
      if (!leadsTo(bootstrap, address)) continue;
      if (this.#links.get(address.nodeId)?.isReady !== true) {
        const before = this.#links.get(address.nodeId);
        if (before !== undefined) this.#end(before);
        this.#links.set(address.nodeId, bootstrap);
        this.#bootstrap = null;
        return;
      }
    }
    if (bootstrap.isIdle && [...this.#links.values()].some((link) => link.isReady)) {
      this.#bootstrap = null;
      this.#end(bootstrap);
    }
  }

  /** Whatever is still under way there may be tried again elsewhere, unless `error` says otherwise. */
  #end(link: NodeLink, error: Error = new ConnectionError(`${link.name} is given up`)): void {
    const closing = link.close(error).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

function contentFor<Req>(body: RequestBody<Req>, version: number): Encodable<Req> {
  if (typeof body !== 'function') return body;
  return (body as (version: number) => Encodable<Req>)(version);
}

function leadsTo(link: NodeLink, { host, port }: NodeAddress): boolean {
  const address = link.connectedAddress;
  return address !== null && address.host === host && address.port === port;
}
