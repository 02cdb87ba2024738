/** `pnpm bench [NAME...]`: side-by-side benchmarks; a name may be followed by the cases that it takes. */
import Table from 'cli-table3';
import type { Figure } from './figure.ts';
import { producer } from './producer.ts';
import { scale } from './scale.ts';
import { streams } from './streams.ts';

/** A suite prints each figure as soon as it has it, and returns them all for the table. */
type Suite = (cases: readonly string[]) => Promise<readonly Figure[]>;

const suites = new Map<string, Suite>([
  ['producer', producer],
  ['streams', streams],
  ['scale', scale],
]);

const chosen = new Map<string, string[]>();
let current: string[] | null = null;
for (const word of process.argv.slice(2)) {
  if (suites.has(word)) {
    current = [];
    chosen.set(word, current);
  } else if (current !== null) {
    current.push(word);
  } else {
    console.error(`no benchmark ${word}; there are: ${[...suites.keys()].join(', ')}`);
    process.exit(2);
  }
}
if (chosen.size === 0) for (const name of suites.keys()) chosen.set(name, []);

const table = new Table({ head: ['name', 'ours', 'theirs', 'unit', 'ratio', 'runs'] });
for (const [name, cases] of chosen) {
  for (const row of await (suites.get(name) as Suite)(cases)) {
    table.push([row.name, row.ours, row.theirs, row.unit, `${row.ratio} ×`, row.runs]);
  }
}
console.log(table.toString());
