import { temporaryDirectory } from '../support/temporary-directory.ts';
import { readFileSync } from 'node:fs';
import {
  latestPrices,
  loadPrices,
  readPrices,
  runToEnd,
  STOCKS_APPLICATION_ID,
  STOCKS_TOPIC,
  stocksTopology,
  vegaDataFile,
} from '@millrace/examples';
import { expect, it } from 'vitest';
import { describeOnBothBrokers } from '../support/brokers.ts';
import { clusterAt, logger } from './cluster.ts';

/** The file is in time order per symbol, so the last line of a symbol has its latest price. */
function lastPricesOfFile(): Map<string, number> {
  const lines = readFileSync(vegaDataFile('stocks.csv'), 'utf8').trim().split('\n').slice(1);
  const prices = new Map<string, number>();
  for (const line of lines) {
    const [symbol, , price] = line.split(',') as [string, string, string];
    prices.set(symbol, Number(price));
  }
  return new Map([...prices].sort());
}

describeOnBothBrokers('stocks', (broker) => {
  it('has the latest price per symbol', { timeout: 60_000 }, async () => {
    const cluster = await clusterAt(broker().bootstrapServers);
    expect(await loadPrices(cluster.client)).toBe(560);
    expect(readPrices()[0]).toEqual({ symbol: 'MSFT', date: Date.UTC(2000, 0, 1), price: 39.81 });
    await runToEnd({
      topology: stocksTopology(),
      config: {
        'application.id': STOCKS_APPLICATION_ID,
        'bootstrap.servers': cluster.bootstrapServers,
        'state.dir': temporaryDirectory(),
        'commit.interval.ms': '100ms',
      },
      streamsOptions: { logger },
      client: cluster.client,
      topics: [STOCKS_TOPIC],
      signal: new AbortController().signal,
    });
    expect(await latestPrices(cluster.client)).toEqual(lastPricesOfFile());
  });
});
