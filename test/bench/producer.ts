import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startKafka } from '../support/kafka/start-kafka.ts';
import { type Figure, figure, print } from './figure.ts';
import type { ProducerResult } from './producer-app.ts';
import type { BenchOptions, Suite } from './suite.ts';

/** They vary more than the others. */
const ROUNDS = 5;
const OUR_RECORDS = 2_000_000;
/** It takes about as long with so many times fewer. */
const THEIRS_FEWER = 10;
const run = promisify(execFile);

/** Our producer and kafkajs's on a real Kafka: idempotent, acks=all, 100-byte values, 4 partitions. */
export const producer: Suite = {
  rows: ['producer'],

  async measure(_rows: readonly string[], options: BenchOptions): Promise<readonly Figure[]> {
    const kafka = await startKafka({ purpose: 'bench' });
    const records = options.records ?? OUR_RECORDS;
    try {
      const app = join(dirname(fileURLToPath(import.meta.url)), 'producer-app.js');
      const measure = async (side: 'ours' | 'theirs'): Promise<number> => {
        const count = side === 'ours' ? records : Math.ceil(records / THEIRS_FEWER);
        const args = [app, side, kafka.bootstrapServers, String(count)];
        const { stdout } = await run(process.execPath, args);
        return (JSON.parse(stdout) as ProducerResult).recordsPerSecond;
      };
      const ours: number[] = [];
      const theirs: number[] = [];
      for (let round = 0; round < Math.max(options.rounds, ROUNDS); round++) {
        ours.push(await measure('ours'));
        theirs.push(await measure('theirs'));
      }
      return [print(figure('producer', ours, theirs, 'records/s', 'higher'))];
    } finally {
      await kafka.close();
    }
  },
};
