/**
 * One measurement of one broker, whichever it is, in a process of its own:
 * `broker-load-app.js produce|fetch|latency PORT COUNT CONNECTIONS`. Requests are made beforehand, so that as much
 * as possible of what is measured is the broker.
 */
import { connect, type Socket } from 'node:net';
import {
  BatchBuilder,
  BatchIterator,
  CreateTopics,
  decodeResponse,
  encodeRequest,
  type Api,
  type Encodable,
  Fetch,
  Produce,
} from '@millrace/protocol';

export interface BrokerLoadResult {
  /** Records a second; for `latency` the median of one request, ms. */
  readonly value: number;
}

const PARTITIONS = 4;
/** The default of Kafka's producer. */
const BATCH_BYTES = 16_384;
const IN_FLIGHT = 5;
const VALUE_BYTES = 100;
/** The defaults of Kafka's consumer. */
const PARTITION_FETCH_BYTES = 1_048_576;
const FETCH_BYTES = 52_428_800;
const VERSION = { produce: 9, fetch: 11 } as const;
const HOST = '127.0.0.1';

/** A connection that lets several requests wait for their answers, which come in their order. */
class Load {
  readonly #socket: Socket;
  readonly #waiting: ((answer: Buffer) => void)[] = [];
  #received: Buffer[] = [];
  #receivedBytes = 0;
  #wantedBytes = 4;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  static async open(port: number): Promise<Load> {
    const socket = connect(port, HOST);
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return new Load(socket);
  }

  ask(frame: Buffer): Promise<Buffer> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#socket.write(frame);
    });
  }

  async send<Req, Res>(api: Api<Req, Res>, version: number, body: Encodable<Req>): Promise<Res> {
    return decodeResponse(api, version, await this.ask(encode(api, version, body)));
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#receivedBytes += chunk.length;
    while (this.#receivedBytes >= this.#wantedBytes) {
      const all =
        this.#received.length === 1 ? (this.#received[0] as Buffer) : Buffer.concat(this.#received);
      this.#received = [all];
      const length = all.readInt32BE(0);
      this.#wantedBytes = 4 + length;
      if (all.length < this.#wantedBytes) return;
      const rest = all.subarray(4 + length);
      this.#received = [rest];
      this.#receivedBytes = rest.length;
      this.#wantedBytes = 4;
      this.#waiting.shift()?.(all.subarray(8, 4 + length));
    }
  }
}

function encode<Req>(api: Api<Req, unknown>, version: number, body: Encodable<Req>): Buffer {
  return Buffer.concat(encodeRequest(api, version, { correlationId: 0, clientId: 'load' }, body));
}

function batch(bytes: number): { records: Buffer; count: number } {
  const builder = new BatchBuilder({ codec: 'none', maxBytes: bytes });
  const value = Buffer.alloc(VALUE_BYTES, 'v');
  let count = 0;
  while (builder.appendBytes(Date.now(), null, value, null)) count++;
  return { records: Buffer.from(builder.build({})), count };
}

function produceFrame(topic: string, index: number, records: Buffer): Buffer {
  return encode(Produce, VERSION.produce, {
    acks: -1,
    timeoutMs: 30_000,
    topicData: [{ name: topic, partitionData: [{ index, records }] }],
  });
}

function codeOf(answer: Buffer): number | undefined {
  const { responses } = decodeResponse(Produce, VERSION.produce, answer);
  return responses[0]?.partitionResponses[0]?.errorCode;
}

function checkProduced(answer: Buffer): void {
  const code = codeOf(answer);
  if (code !== 0) throw new Error(`produce was answered with ${String(code)}`);
}

async function createTopic(load: Load, name: string): Promise<void> {
  await load.send(CreateTopics, 5, {
    topics: [{ name, numPartitions: PARTITIONS, replicationFactor: 1 }],
    timeoutMs: 30_000,
  });
  const { records } = batch(2 * VALUE_BYTES);
  for (let index = 0; index < PARTITIONS; index++) {
    // Kafka's broker learns of its leadership a little after its metadata shows it.
    while (codeOf(await load.ask(produceFrame(name, index, records))) !== 0);
  }
}

/** As many batches as hold the records, a few on their way at a time; returns records a second. */
async function produce(loads: readonly Load[], topic: string, records: number): Promise<number> {
  const { records: bytes, count } = batch(BATCH_BYTES);
  const frames = Array.from({ length: PARTITIONS }, (_, index) =>
    produceFrame(topic, index, bytes),
  );
  const total = Math.ceil(records / count);
  let sent = 0;
  const startedMs = performance.now();
  await Promise.all(
    loads.flatMap((load) =>
      Array.from({ length: IN_FLIGHT }, async () => {
        while (sent < total) checkProduced(await load.ask(frames[sent++ % PARTITIONS] as Buffer));
      }),
    ),
  );
  return (total * count * 1_000) / (performance.now() - startedMs);
}

/** All partitions from their beginning to their end, in full fetches. */
async function fetch(load: Load, topic: string, records: number): Promise<number> {
  const offsets = Array.from({ length: PARTITIONS }, () => 0n);
  let left = records;
  const startedMs = performance.now();
  while (left > 0) {
    const { responses } = await load.send(Fetch, VERSION.fetch, {
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: FETCH_BYTES,
      topics: [
        {
          topic,
          partitions: offsets.map((fetchOffset, partition) => ({
            partition,
            fetchOffset,
            partitionMaxBytes: PARTITION_FETCH_BYTES,
          })),
        },
      ],
    });
    for (const { partitionIndex, records: bytes } of responses[0]?.partitions ?? []) {
      const batches = new BatchIterator(bytes ?? Buffer.alloc(0));
      for (let one = batches.next(); one !== null; one = batches.next()) {
        left -= one.recordCount;
        offsets[partitionIndex] = one.baseOffset + BigInt(one.lastOffsetDelta) + 1n;
      }
    }
  }
  return (records * 1_000) / (performance.now() - startedMs);
}

/** The median of one record at a time. */
async function latency(load: Load, topic: string, requests: number): Promise<number> {
  const frame = produceFrame(topic, 0, batch(VALUE_BYTES + 100).records);
  const times: number[] = [];
  for (let left = requests; left > 0; left--) {
    const startedMs = performance.now();
    checkProduced(await load.ask(frame));
    times.push(performance.now() - startedMs);
  }
  return times.sort((a, b) => a - b)[times.length >> 1] as number;
}

const [kind, port, count, connections] = process.argv.slice(2) as [string, string, string, string];
const loads = await Promise.all(
  Array.from({ length: Number(connections) }, () => Load.open(Number(port))),
);
const [first] = loads as [Load];
const topic = `load-${kind}-${String(process.pid)}`;
await createTopic(first, topic);

async function measure(): Promise<number> {
  switch (kind) {
    case 'produce':
      return produce(loads, topic, Number(count));
    case 'latency':
      return latency(first, topic, Number(count));
    case 'fetch': {
      await produce(loads, topic, Number(count));
      return fetch(first, topic, Number(count));
    }
    default:
      throw new Error(`no measurement ${kind}`);
  }
}

console.log(JSON.stringify({ value: await measure() } satisfies BrokerLoadResult));
for (const load of loads) load.close();
