// `npm test`: every suite that this machine can run. Names of projects or files after `--` narrow it.
// The last line is `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, run, setup } from './setup.mjs';

setup();
const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
const report = join(folder, 'report.json');
const status = run(
  process.execPath,
  [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...process.argv.slice(2),
  ],
  { mayFail: true },
);
let passed = 0;
let failed = 0;
try {
  const results = JSON.parse(readFileSync(report, 'utf8'));
  passed = results.numPassedTests;
  failed = results.numFailedTests;
  // A suite that does not load, or a hook that fails, has no failed test of its own.
  failed += results.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
} catch (error) {
  console.error(`vitest left no report: ${error}`);
}
rmSync(folder, { recursive: true, force: true });
// An unhandled rejection or error fails the run without failing a test.
if (status !== 0 && failed === 0) failed = 1;
if (passed === 0 && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
