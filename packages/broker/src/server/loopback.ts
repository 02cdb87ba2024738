import { isIPv4 } from 'node:net';
import { BrokerStartError } from '../errors.ts';

/** Throws BrokerStartError for a host that others could reach: there is no authentication. */
export function checkLoopback(host: string): void {
  const isLoopback =
    host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
  if (isLoopback) return;
  throw new BrokerStartError(
    'BROKER_HOST_NOT_LOOPBACK',
    `Host '${host}' is not a loopback address. The broker authenticates nobody, so it listens on 127.0.0.1, ::1 or localhost only.`,
  );
}

/** `host:port` as clients take it. */
export function bootstrapServersOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
