/**
 * Runs in every test file. Vitest itself fails a run on an unhandled rejection or exception; this
 * adds the two that it does not see: a log line above info that no test expected, and a handle
 * that is still open when the file is done.
 */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type LogLine, loudLines, expectedLoudLines } from './expected-logs.ts';

const HANDLES_CLOSE_WITHIN_MS = 3_000;
const INFO = 30;

// pino writes straight to the file descriptor, through the fs module of CommonJS, so this is the
// only place that sees the lines of loggers that a test did not make itself.
const STDOUT = 1;
const fs = createRequire(import.meta.url)('node:fs') as Record<
  'write' | 'writeSync',
  (fd: number, data: unknown, ...rest: unknown[]) => unknown
>;
for (const name of ['write', 'writeSync'] as const) {
  const original = fs[name];
  fs[name] = (fd, data, ...rest) => {
    if (fd === STDOUT) note(String(data));
    return original(fd, data, ...rest);
  };
}

function note(text: string): void {
  for (const line of text.split('\n')) {
    if (!line.startsWith('{"level":')) continue;
    const parsed = JSON.parse(line) as LogLine;
    if (parsed.level > INFO) loudLines.push(parsed);
  }
}

beforeEach(() => {
  loudLines.length = 0;
  expectedLoudLines.length = 0;
});

afterEach(() => {
  const unexpected = loudLines.filter(
    (line) => !expectedLoudLines.some((pattern) => pattern.test(line.msg ?? '')),
  );
  if (unexpected.length > 0) {
    throw new Error(
      `log lines above info that the test did not expect:\n${unexpected.map((line) => JSON.stringify(line)).join('\n')}`,
    );
  }
});

const counted = new Set([
  'TCPSocketWrap',
  'TCPServerWrap',
  'TLSWrap',
  'PipeServerWrap',
  'ProcessWrap',
  'MessagePort',
  'Timeout',
  'FSEventWrap',
  'StatWatcher',
]);

function openHandles(): Map<string, number> {
  const handles = new Map<string, number>();
  for (const name of process.getActiveResourcesInfo()) {
    if (counted.has(name)) handles.set(name, (handles.get(name) ?? 0) + 1);
  }
  return handles;
}

const before = openHandles();

afterAll(async () => {
  const deadline = performance.now() + HANDLES_CLOSE_WITHIN_MS;
  let leaked = '';
  do {
    const now = openHandles();
    leaked = [...now]
      .map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
      // The one timer that is always there is the wait below.
      .filter(([name, more]) => more > (name === 'Timeout' ? 1 : 0))
      .map(([name, more]) => `${more} × ${name}`)
      .join(', ');
    if (leaked === '') return;
    await sleep(50);
  } while (performance.now() < deadline);
  throw new Error(
    `handles still open ${HANDLES_CLOSE_WITHIN_MS} ms after the last test: ${leaked}`,
  );
});
