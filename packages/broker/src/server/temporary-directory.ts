import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A new directory for a broker that was given none. */
export function makeTemporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'millrace-broker-'));
}

export function removeDirectory(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 3 });
}

export function fileExists(url: URL): boolean {
  return existsSync(fileURLToPath(url));
}
