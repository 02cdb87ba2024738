import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { GoldenCase } from './case.ts';

/** The cases in files, and in folders at any depth; sorted by path. */
export function findCases(paths: readonly string[]): GoldenCase[] {
  return paths.flatMap(filesOf).map(readCase);
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const found = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return found
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => join(path, file));
}

function readCase(file: string): GoldenCase {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as GoldenCase;
  } catch (error) {
    throw new Error(`${file} is no case`, { cause: error });
  }
}
