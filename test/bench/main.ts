/** `pnpm bench [NAME...] [--records N|small] [--rounds N]`: side-by-side benchmarks; see docs/testing.md. */
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import { broker } from './broker.ts';
import { cleaner } from './cleaner.ts';
import { footprint } from './footprint.ts';
import { producer } from './producer.ts';
import { restore } from './restore.ts';
import { scale } from './scale.ts';
import { selectRows } from './selection.ts';
import { exactlyOnce, streams } from './streams.ts';
import type { BenchOptions, Suite } from './suite.ts';

const DEFAULT_ROUNDS = 3;
/** `--records small`: enough to see that all of it works. */
const SMALL_RECORDS = 100_000;
const EXIT_USAGE = 2;

const suites = new Map<string, Suite>([
  ['producer', producer],
  ['streams', streams],
  ['exactly-once', exactlyOnce],
  ['restore', restore],
  ['footprint', footprint],
  ['scale', scale],
  ['broker', broker],
  ['cleaner', cleaner],
]);

interface Request {
  readonly rows: ReadonlyMap<string, readonly string[]>;
  readonly options: BenchOptions;
}

function request(args: readonly string[]): Request {
  const { values, positionals } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: { records: { type: 'string' }, rounds: { type: 'string' } },
    allowPositionals: true,
  });
  const rows = new Map([...suites].map(([name, suite]) => [name, suite.rows]));
  const { records, rounds } = values;
  return {
    rows: selectRows(positionals, rows),
    options: {
      records:
        records === undefined
          ? null
          : records === 'small'
            ? SMALL_RECORDS
            : count('records', records),
      rounds: rounds === undefined ? DEFAULT_ROUNDS : count('rounds', rounds),
    },
  };
}

function count(option: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${option} is ${text}; it must be a whole number, 1 or more`);
}

async function main(args: readonly string[]): Promise<number> {
  let wanted: Request;
  try {
    wanted = request(args);
  } catch (error) {
    console.error((error as Error).message);
    return EXIT_USAGE;
  }
  const table = new Table({
    head: ['name', 'ours', 'theirs', 'unit', 'ratio', 'runs'],
    style: { head: [], border: [], compact: true },
  });
  for (const [name, rows] of wanted.rows) {
    for (const row of await (suites.get(name) as Suite).measure(rows, wanted.options)) {
      table.push([row.name, row.ours, row.theirs, row.unit, `${row.ratio} ×`, row.runs]);
    }
  }
  console.log(table.toString());
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
