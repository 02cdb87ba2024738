import { serdes, StreamsBuilder } from '@millrace/runtime';
import { startEmbedded } from '@millrace/runtime/embedded';

interface Order {
  readonly customer: string;
  readonly amount: number;
}

// Describe: revenue per customer, from a topic of orders.
const builder = new StreamsBuilder();
builder
  .stream('orders', { key: serdes.string(), value: serdes.json<Order>() })
  .filter((_id, order) => order.amount > 0)
  .map((_id, order) => [order.customer, order.amount], {
    key: serdes.string(),
    value: serdes.double(),
  })
  .groupByKey({ name: 'by-customer' })
  .reduce((sum, amount) => sum + amount, { store: 'revenue' })
  .toStream()
  .to('revenue-per-customer');

// Run: here on a broker inside this process. On a cluster it is
// new KafkaStreams(topology, { 'application.id': ..., 'bootstrap.servers': ... }).
const app = await startEmbedded(
  builder.build(),
  { 'application.id': 'revenue' },
  { topics: { orders: 4, 'revenue-per-customer': 4 } },
);
console.log(`orders go to ${app.broker.bootstrapServers}; Ctrl-C stops`);
process.once('SIGINT', () => void app.close());
