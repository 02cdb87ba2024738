// `npm test`: every suite that this machine can run. Names of projects or files after `--` narrow it.
// The last line is `N passed, N failed`.
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, install, root, run } from './setup.mjs';

/** The rung whose only need is a processor, for minutes, and that looks at nothing that is built. */
const CHECKS = 'checks';

const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));

/** The arguments of a run of vitest that leaves its results in a file. */
function vitest(name, args) {
  return [
    join(root, 'node_modules', 'vitest', 'vitest.mjs'),
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${reportOf(name)}`,
    ...args,
  ];
}

function reportOf(name) {
  return join(folder, `${name}.json`);
}

/**
 * Starts the checks beside the build and the other rungs, which wait a good part of their time: at a lower
 * priority the checks take what these leave. Resolves to vitest's status and what it has printed.
 */
function startChecks() {
  // A pipe would be full before the build, which nothing here runs beside, is done.
  const log = join(folder, `${CHECKS}.log`);
  const output = openSync(log, 'w');
  const child = spawn(process.execPath, vitest(CHECKS, ['--project', CHECKS]), {
    cwd: root,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  if (child.pid !== undefined) {
    setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  }
  const abandon = () => child.kill();
  process.once('exit', abandon);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (status) => {
      process.removeListener('exit', abandon);
      resolve({ status: status ?? 1, text: readFileSync(log, 'utf8') });
    });
  });
}

/** Passed and failed tests of a run. */
function count(name, status) {
  let passed = 0;
  let failed = 0;
  try {
    const results = JSON.parse(readFileSync(reportOf(name), 'utf8'));
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
  // An unhandled rejection or error fails the run without failing a test.
  if (status !== 0 && failed === 0) failed = 1;
  if (passed === 0 && failed === 0) failed = 1;
  return { passed, failed };
}

const args = process.argv.slice(2);
install();
const checks = args.length === 0 ? startChecks() : null;
build();
const rungs = checks === null ? args : ['--project', `!${CHECKS}`];
const status = run(process.execPath, vitest('rungs', rungs), { mayFail: true });
const counts = [count('rungs', status)];
if (checks !== null) {
  const { status, text } = await checks;
  console.log(text);
  counts.push(count(CHECKS, status));
}
rmSync(folder, { recursive: true, force: true });
const passed = counts.reduce((sum, each) => sum + each.passed, 0);
const failed = counts.reduce((sum, each) => sum + each.failed, 0);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
