import { readTopic, serdes, type StreamsClient, type Windowed } from '@millrace/runtime';
import type { Delays } from './delays.ts';
import { delaysSerde, stateDaySerde } from './serdes.ts';
import { DELAYS_TOPIC } from './topics.ts';

export interface StateDay extends Delays {
  readonly state: string;
  /** `2001-01-31` */
  readonly day: string;
}

/**
 * What a consumer of the output topic knows in the end: the latest value per state and day, in order.
 * There are many values per state and day, so they stay bytes until it is known which is the latest.
 */
export async function readResults(client: StreamsClient): Promise<StateDay[]> {
  const latest = new Map<string, Map<number, Uint8Array>>();
  const topic = { topic: DELAYS_TOPIC, key: stateDaySerde, value: serdes.bytes() };
  for await (const records of readTopic(client, topic)) {
    for (const { key, value } of records) {
      if (key === null || value === null) continue;
      daysOf(latest, key).set(key.start, value);
    }
  }
  const results: StateDay[] = [];
  for (const state of [...latest.keys()].sort()) {
    const days = [...(latest.get(state) ?? [])].sort(([a], [b]) => a - b);
    for (const [start, value] of days) {
      const day = new Date(start).toISOString().slice(0, 10);
      results.push({ state, day, ...delaysSerde.deserialize(value, DELAYS_TOPIC, null) });
    }
  }
  return results;
}

function daysOf<V>(latest: Map<string, Map<number, V>>, { key }: Windowed<string>): Map<number, V> {
  let days = latest.get(key);
  if (days === undefined) {
    days = new Map();
    latest.set(key, days);
  }
  return days;
}
