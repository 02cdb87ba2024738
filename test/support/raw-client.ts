import { connect, type Socket } from 'node:net';
import {
  type Api,
  type Encodable,
  decodeResponse,
  encodeRequest,
  ApiVersions,
  BatchBuilder,
  type BuildOptions,
  type Codec,
  RecordHeaders,
} from '@millrace/protocol';

const ANSWER_DEADLINE_MS = 30_000;

interface Waiting {
  resolve(payload: Buffer): void;
  reject(error: Error): void;
  readonly timer: NodeJS.Timeout;
}

/** One connection that speaks any API in any version: what a contract test needs to see exact codes. */
export class RawClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #correlationId = 0;
  #closed: Error | null = null;
  /** Highest version of each API that this broker serves. */
  versions = new Map<number, { min: number; max: number }>();

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the broker closed the connection')));
  }

  static async connect(bootstrapServers: string): Promise<RawClient> {
    const first = bootstrapServers.split(',')[0] as string;
    const colon = first.lastIndexOf(':');
    const socket = connect(Number(first.slice(colon + 1)), first.slice(0, colon));
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    const client = new RawClient(socket);
    const { apiKeys } = await client.send(ApiVersions, 3, {
      clientSoftwareName: 'contract',
      clientSoftwareVersion: '1',
    });
    for (const api of apiKeys) {
      client.versions.set(api.apiKey, { min: api.minVersion, max: api.maxVersion });
    }
    return client;
  }

  /** The highest version that both sides know. */
  versionOf(api: Api<unknown, unknown>): number {
    const range = this.versions.get(api.key);
    if (range === undefined) throw new Error(`the broker does not serve ${api.name}`);
    return Math.min(range.max, api.maxVersion);
  }

  async send<Req, Res>(api: Api<Req, Res>, version: number, body: Encodable<Req>): Promise<Res> {
    if (this.#closed !== null) throw this.#closed;
    const correlationId = this.#correlationId++;
    const payload = new Promise<Buffer>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(correlationId);
        reject(new Error(`no answer to ${api.name} v${version} in ${ANSWER_DEADLINE_MS} ms`));
      }, ANSWER_DEADLINE_MS);
      this.#waiting.set(correlationId, { resolve, reject, timer });
    });
    this.#write(encodeRequest(api, version, { correlationId, clientId: 'contract' }, body));
    return decodeResponse(api, version, await payload);
  }

  /** For a request that has no answer (produce with acks = 0). */
  post<Req>(api: Api<Req, unknown>, version: number, body: Encodable<Req>): void {
    const correlationId = this.#correlationId++;
    this.#write(encodeRequest(api, version, { correlationId, clientId: 'contract' }, body));
  }

  close(): void {
    this.#socket.destroy();
    this.#end(new Error('closed'));
  }

  get isClosed(): boolean {
    return this.#closed !== null;
  }

  #write(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) this.#socket.write(chunk);
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#receivedBytes += chunk.length;
    for (;;) {
      if (this.#receivedBytes < 4) return;
      const all = this.#received.length === 1 ? chunk : Buffer.concat(this.#received);
      this.#received = [all];
      const size = all.readInt32BE(0);
      if (all.length < size + 4) return;
      const correlationId = all.readInt32BE(4);
      const payload = all.subarray(8, size + 4);
      const rest = all.subarray(size + 4);
      this.#received = rest.length === 0 ? [] : [rest];
      this.#receivedBytes = rest.length;
      const waiting = this.#waiting.get(correlationId);
      if (waiting === undefined) continue;
      this.#waiting.delete(correlationId);
      clearTimeout(waiting.timer);
      waiting.resolve(payload);
      if (rest.length < 4) return;
      chunk = rest;
    }
  }

  #end(error: Error): void {
    if (this.#closed !== null) return;
    this.#closed = error;
    for (const waiting of this.#waiting.values()) {
      clearTimeout(waiting.timer);
      waiting.reject(error);
    }
    this.#waiting.clear();
  }
}

export interface TestRecord {
  readonly key?: string | null;
  readonly value?: string | null;
  readonly timestamp?: number;
  readonly headers?: readonly (readonly [string, string | null])[];
}

/** One batch; timestamps default to now, so that retention leaves it alone. */
export function batchOf(
  records: readonly TestRecord[],
  options: BuildOptions & { readonly codec?: Codec } = {},
): Buffer {
  const builder = new BatchBuilder({ codec: options.codec ?? 'none', maxBytes: 16 * 1024 * 1024 });
  for (const { key = null, value = null, timestamp = Date.now(), headers = [] } of records) {
    const appended = builder.appendBytes(
      timestamp,
      key === null ? null : Buffer.from(key),
      value === null ? null : Buffer.from(value),
      headers.length === 0
        ? null
        : RecordHeaders.from(headers.map(([name, text]) => ({ key: name, value: text }))),
    );
    if (!appended) throw new Error('test batch too large');
  }
  return Buffer.from(builder.build(options));
}
