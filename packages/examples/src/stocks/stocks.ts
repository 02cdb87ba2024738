import {
  readTopic,
  serdes,
  StreamsBuilder,
  TopicWriter,
  type StreamsClient,
  type Topology,
} from '@millrace/runtime';
import { readPrices, type Price } from './prices.ts';

export const STOCKS_APPLICATION_ID = 'latest-prices-by-symbol';
export const STOCKS_TOPIC = 'stocks';
const LATEST_PRICES_TOPIC = 'latest-prices';

const symbolSerde = serdes.string();
const priceSerde = serdes.json<Price>();

/** Latest price per symbol: that is what a table of the topic is. */
export function stocksTopology(): Topology {
  const builder = new StreamsBuilder();
  builder
    .table(STOCKS_TOPIC, { key: symbolSerde, value: priceSerde, store: 'latest-prices' })
    .toStream()
    .mapValues(({ price }) => price, { value: serdes.double() })
    .to(LATEST_PRICES_TOPIC);
  return builder.build();
}

/** Creates both topics and writes all prices of the file. */
export async function loadPrices(client: StreamsClient): Promise<number> {
  const config = new Map([['cleanup.policy', 'compact']]);
  await client.admin().createTopics(
    [STOCKS_TOPIC, LATEST_PRICES_TOPIC].map((topic) => ({
      topic,
      partitionCount: 2,
      replicationFactor: -1,
      config,
    })),
  );
  const prices = readPrices();
  const topic = { topic: STOCKS_TOPIC, key: symbolSerde, value: priceSerde };
  const writer = await TopicWriter.open(client, topic);
  for (const price of prices) writer.send(price.symbol, price, { timestamp: price.date });
  await writer.close();
  return prices.length;
}

/** What a consumer of the output topic knows: the latest price per symbol, in order. */
export async function latestPrices(client: StreamsClient): Promise<Map<string, number>> {
  const latest = new Map<string, number>();
  const topic = { topic: LATEST_PRICES_TOPIC, key: symbolSerde, value: serdes.double() };
  for await (const records of readTopic(client, topic)) {
    for (const { key, value } of records) {
      if (key !== null && value !== null) latest.set(key, value);
    }
  }
  return new Map([...latest].sort(([a], [b]) => (a < b ? -1 : 1)));
}
