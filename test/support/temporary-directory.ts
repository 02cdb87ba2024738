import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A new directory that is removed after the tests of the file. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  made.add(path);
  return path;
}

const made = new Set<string>();

afterAll(() => {
  for (const path of made) rmSync(path, { recursive: true, force: true });
  made.clear();
});
