import { cpSync, rmSync } from 'node:fs';
import { FLIGHTS_TOPIC, flightSerde, iataSerde } from '@millrace/examples';
import { connect, GroupProgress, readTopic, silentLogger } from '@millrace/runtime';
import { startBroker } from '@millrace/broker';

interface TopicOffsets {
  readonly committed: number;
  readonly end: number;
}

export interface Inspection {
  /** Row numbers of the flights in the topic, sorted. */
  rows(): Promise<number[]>;
  offsets(topic: string): Promise<TopicOffsets>;
}

/**
 * Looks into a data directory through a broker on a copy of it: the next run shall find it as the last
 * one left it.
 */
export async function inspectCopy<T>(
  dataDir: string,
  groupId: string,
  inspect: (inspection: Inspection) => Promise<T>,
): Promise<T> {
  const copy = `${dataDir}-copy`;
  cpSync(dataDir, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  const broker = await startBroker({ dataDir: copy });
  const client = connect(
    { 'bootstrap.servers': broker.bootstrapServers },
    { logger: silentLogger() },
  );
  const group = new GroupProgress(client, groupId);
  try {
    return await inspect({
      async rows() {
        const rows: number[] = [];
        const topic = { topic: FLIGHTS_TOPIC, key: iataSerde, value: flightSerde };
        for await (const records of readTopic(client, topic)) {
          for (const { value } of records) rows.push(value?.row ?? -1);
        }
        return rows.sort((a, b) => a - b);
      },
      async offsets(topic) {
        const partitions = (await group.of(topic)) ?? [];
        const sum = (of: (each: (typeof partitions)[number]) => bigint): number =>
          Number(partitions.reduce((total, each) => total + of(each), 0n));
        return {
          committed: sum(({ committedOffset }) => committedOffset ?? 0n),
          end: sum(({ endOffset }) => endOffset),
        };
      },
    });
  } finally {
    await group.close();
    await client.close(10_000);
    await broker.close();
    rmSync(copy, { recursive: true, force: true });
  }
}
