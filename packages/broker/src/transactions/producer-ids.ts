import { join } from 'node:path';
import type { Disk } from '@millrace/compaction';
import { DurableFile } from '../durable-file.ts';
import { BrokerStartError } from '../errors.ts';
import { PRODUCER_ID_BLOCK_SIZE } from '../limits.ts';

const FILE_NAME = 'producer-ids-checkpoint';

/**
 * Hands out producer ids, each one once over all runs. Ids are reserved in blocks: the file holds the
 * first id that no block has covered, and is durable before an id of the block goes out. What a killed
 * broker had left of its block is lost, as in Kafka.
 *
 * The file has Kafka's checkpoint form: version, then the value, one a line.
 */
export class ProducerIds {
  readonly #file: DurableFile;
  #next: bigint;
  #end: bigint;
  #reservedEnd: bigint;
  #reserving: Promise<void> | null = null;

  private constructor(disk: Disk, path: string, start: bigint) {
    this.#next = start;
    this.#end = start;
    this.#reservedEnd = start;
    this.#file = new DurableFile(disk, path, () => `0\n${this.#reservedEnd}\n`);
  }

  /** Throws BrokerStartError `BROKER_PRODUCER_IDS_INVALID`: going on could give an id twice. */
  static load(disk: Disk, dataDir: string): ProducerIds {
    const path = join(dataDir, FILE_NAME);
    if (disk.stat(path) === null) return new ProducerIds(disk, path, 0n);
    const match = /^0\n(\d{1,18})\n$/.exec(disk.readFile(path).toString('latin1'));
    if (match === null) {
      throw new BrokerStartError(
        'BROKER_PRODUCER_IDS_INVALID',
        `${path} is damaged. It must hold two lines: 0, and the first producer id not given out yet; write a ` +
          'number there that is above every producer id in the logs.',
      );
    }
    return new ProducerIds(disk, path, BigInt(match[1] as string));
  }

  /** Rejects if a new block cannot be made durable; no id is lost or repeated by that. */
  async next(): Promise<bigint> {
    while (this.#next >= this.#end) {
      this.#reserving ??= this.#reserve();
      await this.#reserving;
    }
    return this.#next++;
  }

  /** A producer id found in a log must never be given out again, whatever the file says. */
  markUsed(producerId: bigint): void {
    if (producerId < this.#reservedEnd) return;
    this.#next = this.#end = this.#reservedEnd = producerId + 1n;
  }

  async #reserve(): Promise<void> {
    const start = this.#reservedEnd;
    this.#reservedEnd = start + BigInt(PRODUCER_ID_BLOCK_SIZE);
    try {
      await this.#file.save();
      this.#next = start;
      this.#end = this.#reservedEnd;
    } catch (error) {
      this.#reservedEnd = start;
      throw error;
    } finally {
      this.#reserving = null;
    }
  }
}
