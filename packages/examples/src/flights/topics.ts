import type { NewTopic, StreamsClient } from '@millrace/runtime';
import { UsageError } from '../support/errors.ts';

/** Flights under the IATA code of their origin, in time order per partition. */
export const FLIGHTS_TOPIC = 'flights';
/** Airports under their IATA code: the latest record per key is the airport. */
export const AIRPORTS_TOPIC = 'airports';
/** What comes out: the figures of a state and day, under that state and day. */
export const DELAYS_TOPIC = 'flight-delays';

/** The records are of 2001, and retention goes by a record's own time: nothing would stay for a day. */
const KEPT_FOR_EVER: ReadonlyMap<string, string> = new Map([['retention.ms', '-1']]);
const LATEST_PER_KEY: ReadonlyMap<string, string> = new Map([['cleanup.policy', 'compact']]);

/**
 * Creates the topics that are missing. Flights and airports must have the same number of partitions,
 * because a join looks up a flight's airport in the partition of the same number.
 *
 * @throws UsageError when they exist with another number than the one asked for; null: any will do
 */
export async function createTopics(
  client: StreamsClient,
  partitionCount: number | null,
  defaultPartitionCount: number,
): Promise<void> {
  const admin = client.admin();
  const existing = await admin.describeTopics([FLIGHTS_TOPIC, AIRPORTS_TOPIC]);
  for (const topic of existing.values()) {
    if (partitionCount === null || topic.partitionCount === partitionCount) continue;
    throw new UsageError(
      `--partitions is ${partitionCount}, but the topic ${topic.topic} exists with ` +
        `${topic.partitionCount}. Leave the option out, or use another --data-dir.`,
    );
  }
  const [known] = existing.values();
  const count = partitionCount ?? known?.partitionCount ?? defaultPartitionCount;
  const topic = (name: string, config: ReadonlyMap<string, string>): NewTopic => ({
    topic: name,
    partitionCount: count,
    replicationFactor: -1,
    config,
  });
  await admin.createTopics([
    topic(FLIGHTS_TOPIC, KEPT_FOR_EVER),
    topic(AIRPORTS_TOPIC, LATEST_PER_KEY),
    topic(DELAYS_TOPIC, KEPT_FOR_EVER),
  ]);
}
