import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startKafka } from '../support/kafka/start-kafka.ts';
import { type Figure, figure, print } from './figure.ts';
import type { ProducerResult } from './producer-app.ts';

const ROUNDS = 5;
const RECORDS = { ours: 2_000_000, theirs: 200_000 };
const run = promisify(execFile);

/** Our producer and kafkajs's on a real Kafka: idempotent, acks=all, 100-byte values, 4 partitions. */
export async function producer(): Promise<readonly Figure[]> {
  const kafka = await startKafka({ purpose: 'bench' });
  try {
    const app = join(dirname(fileURLToPath(import.meta.url)), 'producer-app.js');
    const measure = async (side: 'ours' | 'theirs'): Promise<number> => {
      const { stdout } = await run(process.execPath, [
        app,
        side,
        kafka.bootstrapServers,
        String(RECORDS[side]),
      ]);
      return (JSON.parse(stdout) as ProducerResult).recordsPerSecond;
    };
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await measure('ours'));
      theirs.push(await measure('theirs'));
    }
    return [print(figure('producer', ours, theirs, 'records/s', 'higher'))];
  } finally {
    await kafka.close();
  }
}
