import { createServer } from 'node:net';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { expectLoudLogs } from '../../../support/expected-logs.ts';

it('closes what it opens and expects what it logs', async () => {
  expectLoudLogs(/odd/);
  pino().warn('something is odd');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await new Promise((resolve) => server.close(resolve));
  expect(server.listening).toBe(false);
});
