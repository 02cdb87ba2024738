import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { compareAnswers, recompressedIn } from './compare-answers.ts';
import { dumpSegments } from './dump-segments.ts';
import { askOurCleaner } from './our-cleaner.ts';
import type { CleaningAnswer, CleaningRequest } from './requests.ts';

/** Folders with a request.json, `folder` itself or those in it. Throws when there is none. */
export function findFixtures(folder: string): string[] {
  const isFixture = (one: string): boolean => existsSync(join(one, 'request.json'));
  if (isFixture(folder)) return [folder];
  const found = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter(isFixture)
    .sort();
  if (found.length === 0) throw new Error(`${folder}: no fixture (a folder with request.json)`);
  return found;
}

/** Puts a fixture's questions to our cleaner; where its answers differ from the recorded ones. */
export async function runFixture(fixture: string): Promise<string[]> {
  const read = <T>(name: string): T => JSON.parse(readFileSync(join(fixture, name), 'utf8')) as T;
  const { steps } = read<{ steps: CleaningRequest[] }>('request.json');
  const answers = read<CleaningAnswer[]>('answer.json');
  const root = mkdtempSync(join(tmpdir(), `oracle-${basename(fixture)}-`));
  const partition = join(root, 't-0');
  const differences: string[] = [];
  let hasOwnSizes = false;
  try {
    cpSync(join(fixture, 'before'), partition, { recursive: true, preserveTimestamps: true });
    for (const [index, step] of steps.entries()) {
      const before = dumpSegments(partition);
      const ours = await askOurCleaner(root, step);
      const theirs = answers[index] as CleaningAnswer;
      for (const difference of compareAnswers(step, { before, hasOwnSizes }, theirs, ours)) {
        differences.push(`step ${String(index + 1)} (${step.cmd}): ${difference}`);
      }
      hasOwnSizes ||= recompressedIn(before, theirs).size > 0;
    }
  } catch (error) {
    differences.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    rmSync(root, { recursive: true });
  }
  return differences;
}
