import { readTopic, type StreamsClient } from '@millrace/runtime';
import type { Delays } from './delays.ts';
import { delaysSerde, stateDaySerde } from './serdes.ts';
import { DELAYS_TOPIC } from './topics.ts';

export interface StateDay extends Delays {
  readonly state: string;
  /** `2001-01-31` */
  readonly day: string;
}

/** What a consumer of the output topic knows in the end: the latest value per state and day, in order. */
export async function readResults(client: StreamsClient): Promise<StateDay[]> {
  const latest = new Map<string, StateDay>();
  const topic = { topic: DELAYS_TOPIC, key: stateDaySerde, value: delaysSerde };
  for await (const records of readTopic(client, topic)) {
    for (const { key, value } of records) {
      if (key === null || value === null) continue;
      const day = new Date(key.start).toISOString().slice(0, 10);
      latest.set(`${key.key} ${day}`, { state: key.key, day, ...value });
    }
  }
  return [...latest.keys()].sort().map((key) => latest.get(key) as StateDay);
}
