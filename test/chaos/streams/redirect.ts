/** Connections to the brokers' ports go to others instead, where a proxy of this instance listens. */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import type * as Net from 'node:net';

export type Redirects = Readonly<Record<number, number>>;

/** Everything in this process that connects from here on is redirected, by port. */
export function redirectConnections(redirects: Redirects): void {
  const net = createRequire(import.meta.url)('node:net') as { connect: typeof Net.connect };
  const { connect } = net;
  const redirected = (options: Net.TcpNetConnectOpts, onConnect?: () => void): Net.Socket =>
    connect({ ...options, port: redirects[options.port] ?? options.port }, onConnect);
  net.connect = redirected as typeof Net.connect;
  syncBuiltinESMExports();
}
