import { connect, type Socket } from 'node:net';
import {
  BatchBuilder,
  decodeResponse,
  encodeRequest,
  type Api,
  type Encodable,
} from '@millrace/protocol';
import { FrameReader } from '../server/frame.ts';

const ANSWER_DEADLINE_MS = 10_000;

interface Waiting {
  readonly resolve: (payload: Buffer) => void;
  readonly reject: (error: Error) => void;
}

/** One connection that speaks any API in any version, or plain bytes. */
export class TestClient {
  readonly socket: Socket;
  /** Correlation ids in the order of their answers. */
  readonly answered: number[] = [];
  readonly closed: Promise<void>;
  isClosed = false;
  readonly #waiting = new Map<number, Waiting>();
  #correlationId = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    const frames = new FrameReader(1 << 30);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      frames.push(chunk, (frame) => {
        const correlationId = frame.readInt32BE(0);
        this.answered.push(correlationId);
        this.#waiting.get(correlationId)?.resolve(Buffer.from(frame.subarray(4)));
        this.#waiting.delete(correlationId);
      });
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.on('close', () => {
        this.isClosed = true;
        for (const { reject } of this.#waiting.values()) reject(new Error('connection closed'));
        this.#waiting.clear();
        resolve();
      });
    });
  }

  static async connect({ port }: { readonly port: number }): Promise<TestClient> {
    const socket = connect(port, '127.0.0.1');
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new TestClient(socket);
  }

  async send<Req, Res>(api: Api<Req, Res>, version: number, body: Encodable<Req>): Promise<Res> {
    const correlationId = this.post(api, version, body);
    const payload = await new Promise<Buffer>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no answer to ${api.name} v${version}`));
      }, ANSWER_DEADLINE_MS);
      this.#waiting.set(correlationId, {
        resolve: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
    });
    return decodeResponse(api, version, payload);
  }

  /** Without waiting for an answer; gives the correlation id. */
  post<Req>(api: Api<Req, unknown>, version: number, body: Encodable<Req>): number {
    const correlationId = this.#correlationId++;
    const header = { correlationId, clientId: 'test' };
    for (const chunk of encodeRequest(api, version, header, body)) this.socket.write(chunk);
    return correlationId;
  }

  write(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  async close(): Promise<void> {
    this.socket.destroy();
    await this.closed;
  }
}

export interface TestBatch {
  readonly values: readonly (string | Buffer)[];
  readonly key?: string | null;
  readonly timestamp?: number;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly isTransactional?: boolean;
}

/** One record batch, as a producer sends it. */
export function batchOf(batch: TestBatch): Buffer {
  const { values, key = null, timestamp = Date.now(), ...fields } = batch;
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 1 << 26 });
  for (const value of values) {
    builder.appendBytes(
      timestamp,
      key === null ? null : Buffer.from(key),
      Buffer.from(value as string),
      null,
    );
  }
  return Buffer.from(builder.build(fields));
}
