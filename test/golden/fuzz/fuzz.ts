import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../support/kafka/jars.ts';
import type { GoldenCase } from '../case.ts';
import { judge } from '../judge.ts';
import { generateCase } from './generate-case.ts';
import type { JavaStreams, OpenCase } from './java-streams.ts';
import { shrink } from './shrink.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly cases: number;
  /** Told of each case as it is done. */
  readonly onCase?: (done: number, different: number) => void;
}

/** A case whose outcome differs, made small; `pnpm golden FILE` runs it again. */
interface Difference {
  readonly name: string;
  readonly file: string;
  readonly where: string;
  readonly difference: string;
}

export interface FuzzResult {
  readonly same: number;
  readonly differences: readonly Difference[];
}

/** Lets Kafka Streams and Millrace run the same random cases. */
export async function fuzz(java: JavaStreams, options: FuzzOptions): Promise<FuzzResult> {
  const differences: Difference[] = [];
  for (let index = 0; index < options.cases; index++) {
    const open = generateCase(options.seed, index);
    const failure = await failureOf(java, open);
    if (failure !== null) differences.push(await reduce(java, open, failure));
    options.onCase?.(index + 1, differences.length);
  }
  return { same: options.cases - differences.length, differences };
}

interface Failure {
  readonly golden: GoldenCase;
  readonly where: string;
  readonly difference: string;
}

/** null if both give the same, or if the case makes no sense to the harness. */
async function failureOf(java: JavaStreams, open: OpenCase): Promise<Failure | null> {
  const golden = await java.complete(open);
  if (golden === null) return null;
  const verdict = await judge(golden);
  if (verdict.kind === 'skipped') {
    throw new Error(`${open.name} uses what does not exist: ${[...verdict.operators].join(', ')}`);
  }
  return verdict.kind === 'failed' ? { golden, ...verdict } : null;
}

async function reduce(java: JavaStreams, open: OpenCase, first: Failure): Promise<Difference> {
  let last = first;
  await shrink(open, async (smaller) => {
    const failure = await failureOf(java, smaller);
    // Not another failure in the place of this one.
    if (failure === null || kindOf(failure) !== kindOf(first)) return false;
    last = failure;
    return true;
  });
  const folder = join(cacheFolder(), 'fuzz');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${open.name}.json`);
  writeFileSync(file, `${JSON.stringify(last.golden, null, 1)}\n`);
  return { name: open.name, file, where: last.where, difference: last.difference };
}

/** `step`, `describe`, `store`, `not to fail` ...: the first words of a difference, without what follows. */
function kindOf({ difference }: Failure): string {
  return (difference.split('\n')[0] ?? '')
    .replace(/[^a-z ].*/i, '')
    .trim()
    .split(' ')
    .slice(0, 3)
    .join(' ');
}
