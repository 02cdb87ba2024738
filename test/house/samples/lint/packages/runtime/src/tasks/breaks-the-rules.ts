// Every line below must be found by the lint; test/house/checks.test.ts names the rules.
import { readFileSync } from 'node:fs';

export async function later(): Promise<number> {
  return Promise.resolve(Date.now());
}

export function breaks(offset: bigint): number {
  later();
  try {
    readFileSync('x');
  } catch {}
  setTimeout(() => undefined, 1);
  return Number(offset);
}

export default breaks;
