#!/usr/bin/env node
import Table from 'cli-table3';
import { runExample } from '../support/run-example.ts';
import {
  latestPrices,
  loadPrices,
  STOCKS_APPLICATION_ID,
  STOCKS_TOPIC,
  stocksTopology,
} from './stocks.ts';

await runExample({
  applicationId: STOCKS_APPLICATION_ID,
  topology: stocksTopology(),
  topics: [STOCKS_TOPIC],
  async load({ client }) {
    console.log(`Loaded ${await loadPrices(client)} prices`);
  },
  async show({ client }) {
    const table = new Table({
      head: ['Symbol', 'Latest price (USD)'],
      colAligns: ['left', 'right'],
      style: { head: [], border: [], compact: true },
    });
    for (const [symbol, price] of await latestPrices(client)) {
      table.push([symbol, price.toFixed(2)]);
    }
    console.log(table.toString());
  },
});
