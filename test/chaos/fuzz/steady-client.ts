import { BatchIterator, CreateTopics, Fetch, Produce, RecordCursor } from '@millrace/protocol';
import { batchOf, RawClient } from '../../support/raw-client.ts';

const TOPIC = 'steady';
const RECORDS_PER_BATCH = 20;
const VERSION = 11;

/** A client that behaves, beside those that do not: it must not notice them. */
export class SteadyClient {
  readonly faults: string[] = [];
  /** The longest that one request took, ms. */
  slowestMs = 0;
  roundCount = 0;
  readonly #client: RawClient;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  private constructor(client: RawClient) {
    this.#client = client;
  }

  static async start(port: number): Promise<SteadyClient> {
    const client = await RawClient.connect(`127.0.0.1:${port}`);
    await client.send(CreateTopics, 7, {
      topics: [{ name: TOPIC, numPartitions: 1, replicationFactor: 1 }],
      timeoutMs: 10_000,
    });
    const steady = new SteadyClient(client);
    steady.#running = steady.#run();
    return steady;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
    this.#client.close();
  }

  async #run(): Promise<void> {
    try {
      for (let next = 0; !this.#isStopping; next += RECORDS_PER_BATCH) {
        await this.#produce(next);
        await this.#fetch(next);
        this.roundCount++;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } catch (error) {
      this.faults.push(`a client that behaves was disturbed: ${String(error)}`);
    }
  }

  async #produce(next: number): Promise<void> {
    const values = Array.from({ length: RECORDS_PER_BATCH }, (_, at) => ({
      value: String(next + at),
    }));
    const { responses } = await this.#timed(
      this.#client.send(Produce, 8, {
        acks: -1,
        timeoutMs: 10_000,
        topicData: [{ name: TOPIC, partitionData: [{ index: 0, records: batchOf(values) }] }],
      }),
    );
    const answer = responses[0]?.partitionResponses[0];
    if (answer?.errorCode === 0 && answer.baseOffset === BigInt(next)) return;
    this.faults.push(
      `offset ${next} was produced as ${String(answer?.baseOffset)}, code ${String(answer?.errorCode)}`,
    );
  }

  async #fetch(next: number): Promise<void> {
    const { responses } = await this.#timed(
      this.#client.send(Fetch, VERSION, {
        maxWaitMs: 100,
        minBytes: 1,
        topics: [
          {
            topic: TOPIC,
            partitions: [{ partition: 0, fetchOffset: BigInt(next), partitionMaxBytes: 100_000 }],
          },
        ],
      }),
    );
    const records = responses[0]?.partitions[0]?.records;
    const found = valuesOf(records ?? Buffer.alloc(0));
    const expected = Array.from({ length: RECORDS_PER_BATCH }, (_, at) => String(next + at));
    if (found.join() === expected.join()) return;
    this.faults.push(`from offset ${next} on came ${found.join()}`);
  }

  async #timed<T>(request: Promise<T>): Promise<T> {
    const startedMs = performance.now();
    const answer = await request;
    this.slowestMs = Math.max(this.slowestMs, performance.now() - startedMs);
    return answer;
  }
}

function valuesOf(records: Buffer): string[] {
  const values: string[] = [];
  const batches = new BatchIterator(records);
  const cursor = new RecordCursor();
  for (let batch = batches.next(); batch !== null; batch = batches.next()) {
    cursor.open(batch);
    while (cursor.next()) values.push(String(cursor.value()));
  }
  return values;
}
