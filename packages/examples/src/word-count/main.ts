#!/usr/bin/env node
import Table from 'cli-table3';
import { runExample } from '../support/run-example.ts';
import {
  LINES_TOPIC,
  loadLines,
  readCounts,
  WORD_COUNT_APPLICATION_ID,
  WORD_REPARTITION_TOPIC,
  wordCountTopology,
} from './word-count.ts';

const SHOWN_WORDS = 15;

await runExample({
  applicationId: WORD_COUNT_APPLICATION_ID,
  topology: wordCountTopology(),
  topics: [LINES_TOPIC, WORD_REPARTITION_TOPIC],
  async load({ client }) {
    console.log(`Loaded ${await loadLines(client)} lines`);
  },
  async show({ client }) {
    const counts = await readCounts(client);
    const table = new Table({
      head: ['Word', 'Count'],
      colAligns: ['left', 'right'],
      style: { head: [], border: [], compact: true },
    });
    for (const [word, count] of [...counts].slice(0, SHOWN_WORDS)) {
      table.push([word, String(count)]);
    }
    console.log(`${counts.size} different words; the most frequent ones:\n${table.toString()}`);
  },
});
