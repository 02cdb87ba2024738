import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { SeededRandom } from '../../golden/fuzz/random.ts';
import type { Redirects } from './redirect.ts';

/** A connection of the instance, and the one to the broker that it goes on in. */
interface Link {
  readonly near: Socket;
  /** null until it may be opened. */
  far: Socket | null;
  readonly port: number;
  isStalled: boolean;
}

/**
 * Between one instance and the brokers. A connection that stalls stays open, but nothing passes in either
 * direction; what was written meanwhile arrives when it goes on, also when its writer is dead or replaced by then.
 */
export class StallingProxy {
  /** By port of a broker: the port to connect to instead. */
  readonly redirects: Redirects;
  readonly #servers: readonly Server[];
  readonly #links: Set<Link>;
  #isStalled = false;

  private constructor(servers: readonly Server[], links: Set<Link>, ports: readonly number[]) {
    this.#servers = servers;
    this.#links = links;
    this.redirects = Object.fromEntries(
      ports.map((port, index) => [port, (servers[index]?.address() as AddressInfo).port]),
    );
  }

  static async open(ports: readonly number[]): Promise<StallingProxy> {
    const links = new Set<Link>();
    let accept: (near: Socket, port: number) => void = (near) => near.destroy();
    const servers = await Promise.all(
      ports.map(
        (port) =>
          new Promise<Server>((resolve, reject) => {
            const server = createServer((near) => accept(near, port));
            server.once('error', reject);
            server.listen(0, '127.0.0.1', () => resolve(server));
          }),
      ),
    );
    const proxy = new StallingProxy(servers, links, ports);
    accept = (near, port) => proxy.#accept(near, port);
    return proxy;
  }

  /** All connections, and those that are opened meanwhile. */
  stallAll(): void {
    this.#isStalled = true;
    for (const link of this.#links) stall(link);
  }

  /** One of the connections; returns how many there are. */
  stallOne(random: SeededRandom): number {
    const links = [...this.#links];
    if (links.length > 0) stall(random.pick(links));
    return links.length;
  }

  goOn(): void {
    this.#isStalled = false;
    for (const link of this.#links) this.#goOn(link);
  }

  async close(): Promise<void> {
    const closed = this.#servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    );
    for (const { near, far } of this.#links) {
      near.destroy();
      far?.destroy();
    }
    await Promise.all(closed);
  }

  #accept(near: Socket, port: number): void {
    const link: Link = { near, far: null, port, isStalled: this.#isStalled };
    this.#links.add(link);
    near.setNoDelay(true).on('error', () => this.#end(link));
    near.once('close', () => this.#end(link));
    if (!link.isStalled) this.#open(link);
  }

  #open(link: Link): void {
    const far = connect({ host: '127.0.0.1', port: link.port });
    link.far = far;
    far.setNoDelay(true).on('error', () => this.#end(link));
    far.once('close', () => this.#end(link));
    pass(link, link.near, far);
    pass(link, far, link.near);
  }

  #goOn(link: Link): void {
    link.isStalled = false;
    if (link.far === null) this.#open(link);
    else {
      link.near.resume();
      link.far.resume();
    }
  }

  #end(link: Link): void {
    this.#links.delete(link);
    // What was read is written first: a request of a process that is dead by now.
    link.near.destroySoon();
    link.far?.destroySoon();
  }
}

function stall(link: Link): void {
  link.isStalled = true;
  link.near.pause();
  link.far?.pause();
}

function pass(link: Link, from: Socket, to: Socket): void {
  from.on('data', (chunk: Buffer) => {
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => {
    if (!link.isStalled) from.resume();
  });
}
