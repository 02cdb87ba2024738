import Table from 'cli-table3';
import { addSums, NO_FLIGHTS, toDelays, type Delays, type DelaySums } from './delays.ts';
import type { StateDay } from './results.ts';

const WORST_DAYS = 5;
const whole = new Intl.NumberFormat('en-US');

/** A table with a row per state, and one with the worst days of all states together. */
export function renderReport(results: readonly StateDay[]): string {
  const states = [...groupBy(results, ({ state }) => state)].sort(([a], [b]) => (a < b ? -1 : 1));
  const days = [...groupBy(results, ({ day }) => day)];
  const byState = newTable('State', 'Days');
  for (const [state, rows] of states) byState.push(row(state, whole.format(rows.length), rows));
  if (states.length > 1) byState.push(row('all', whole.format(days.length), results));

  const worst = newTable('Worst days', 'States');
  days
    .map(([day, rows]) => ({ day, rows, meanDelay: sumUp(rows).meanDelay }))
    .sort((a, b) => b.meanDelay - a.meanDelay)
    .slice(0, WORST_DAYS)
    .forEach(({ day, rows }) => worst.push(row(day, whole.format(rows.length), rows)));
  return `${byState.toString()}\n${worst.toString()}`;
}

function newTable(what: string, ofWhat: string): Table.Table {
  return new Table({
    head: [what, ofWhat, 'Flights', 'Mean delay (min)', '> 15 min late'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [], compact: true },
  });
}

function row(name: string, count: string, results: readonly DelaySums[]): string[] {
  const { flights, meanDelay, lateShare } = sumUp(results);
  return [
    name,
    count,
    whole.format(flights),
    meanDelay.toFixed(2),
    `${(lateShare * 100).toFixed(1)} %`,
  ];
}

function sumUp(results: readonly DelaySums[]): Delays {
  return toDelays(results.reduce(addSums, NO_FLIGHTS));
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
