import { connect, isIP } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import { SOCKET_KEEP_ALIVE_MS, SOCKET_READ_BYTES } from '../limits.ts';

/**
 * Sockets as kafkajs makes them, but for one thing: a plain one reads into the same memory again and
 * again, where Node would make a new buffer for each read. Whoever gets a `data` event must copy what it keeps.
 */
export const socketFactory: ISocketFactory = ({ host, port, ssl, onConnect }) => {
  // Whatever its type says, kafkajs passes false, null or nothing for a plain connection.
  const tls = ssl as ConnectionOptions | false | null | undefined;
  if (tls !== undefined && tls !== null && tls !== false) {
    const serverName = isIP(host) === 0 ? { servername: host } : {};
    return connectTls({ host, port, ...serverName, ...tls }, onConnect).setKeepAlive(
      true,
      SOCKET_KEEP_ALIVE_MS,
    );
  }
  const buffer = Buffer.allocUnsafeSlow(SOCKET_READ_BYTES);
  const socket = connect(
    {
      host,
      port,
      onread: {
        buffer,
        callback: (byteCount) => {
          socket.emit('data', buffer.subarray(0, byteCount));
          return true;
        },
      },
    },
    onConnect,
  );
  return socket.setKeepAlive(true, SOCKET_KEEP_ALIVE_MS);
};
