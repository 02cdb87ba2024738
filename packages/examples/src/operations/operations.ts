import { createServer } from 'node:http';
import { closeOnSignals, serdes, StreamsBuilder } from '@millrace/runtime';
import { startEmbedded } from '@millrace/runtime/embedded';
import { registerPrometheusMetrics } from '@millrace/runtime/prometheus';
import { register } from 'prom-client';

const builder = new StreamsBuilder();
builder
  .stream('clicks', { key: serdes.string(), value: serdes.string() })
  .groupByKey()
  .count({ store: 'clicks-per-user' });
const config = { 'application.id': 'clicks' };
const app = await startEmbedded(builder.build(), config, { topics: { clicks: 1 } });

// Metrics for Prometheus, and answers for the probes of Kubernetes.
registerPrometheusMetrics(app.streams, register);
const server = createServer((request, response) => {
  if (request.url === '/metrics') {
    response.setHeader('content-type', register.contentType);
    void register.metrics().then((text) => response.end(text));
    return;
  }
  const { isAlive, isReady } = app.streams.health();
  response.writeHead((request.url === '/ready' ? isReady : isAlive) ? 200 : 503).end();
});
server.listen(Number(process.env['PORT'] ?? 9464), () => {
  console.log('listening on', server.address());
});

// On SIGTERM: finish what is in hand, commit, leave the group. Then nothing keeps the process alive.
closeOnSignals(app, { timeoutMs: 20_000, onClosed: () => server.close() });
