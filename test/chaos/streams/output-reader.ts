import { readTopic, serdes, type StreamsClient } from '@millrace/runtime';
import type { Findings } from './findings.ts';
import type { Results } from './results.ts';
import { OUTPUT_TOPICS, outputNames, type OutputName } from './topics.ts';
import { within } from './within.ts';

const CLOSE_DEADLINE_MS = 20_000;

/** Reads what is committed in all outputs, as it comes, until it is closed. */
export class OutputReader {
  /** By topic and partition: the offsets of all that it has read. */
  readonly offsets = new Map<string, bigint[]>();
  readonly #abort = new AbortController();
  readonly #reading: Promise<unknown>;

  constructor(client: StreamsClient, results: Results, findings: Findings) {
    this.#reading = Promise.all(
      outputNames.map(async (output) => {
        try {
          await this.#read(client, output, results);
        } catch (error) {
          findings.add('broken', `reading ${OUTPUT_TOPICS[output]}: ${String(error)}`);
        }
      }),
    );
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await within(CLOSE_DEADLINE_MS, this.#reading, 'the end of the readers');
  }

  async #read(client: StreamsClient, output: OutputName, results: Results): Promise<void> {
    const topic = OUTPUT_TOPICS[output];
    const isNumber = output === 'counted' || output === 'windows';
    const records = readTopic(client, {
      topic,
      key: serdes.string(),
      value: serdes.bytes(),
      to: 'never',
      signal: this.#abort.signal,
    });
    for await (const some of records) {
      for (const { partition, offset, key, value } of some) {
        const where = `${topic}-${partition}`;
        const offsets = this.offsets.get(where) ?? [];
        offsets.push(offset);
        this.offsets.set(where, offsets);
        const bytes = Buffer.from(value ?? []);
        const decoded = isNumber ? Number(bytes.readBigInt64BE(0)) : bytes.toString();
        results.see(output, { partition, offset, key: key ?? '', value: decoded });
      }
    }
  }
}
