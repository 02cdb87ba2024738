/** `close(timeout)` always returns, and the process ends then, whatever is going on; the number is the report's. */
import { fileURLToPath } from 'node:url';
import { startBroker, type EmbeddedBroker } from '@millrace/broker';
import { connect, serdes, silentLogger, TopicWriter } from '@millrace/runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { RunningCommand, type CommandResult } from '../support/command-line.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const program = fileURLToPath(new URL('../dist/regressions/closing-app.js', import.meta.url));
const CLOSE_TIMEOUT_MS = 2_000;
/** For what comes after the close: the process has nothing left to do. */
const EXIT_WITHIN_MS = 3_000;
const text = { key: serdes.string(), value: serdes.string() };

describe('an application that is told to end', () => {
  let broker: EmbeddedBroker | null = null;
  afterEach(async () => {
    await broker?.close();
    broker = null;
  });

  async function brokerWith(value: string): Promise<EmbeddedBroker> {
    broker = await startBroker();
    const client = connect(
      { 'bootstrap.servers': broker.bootstrapServers },
      { logger: silentLogger() },
    );
    await client
      .admin()
      .createTopics([{ topic: 'in', partitionCount: 1, replicationFactor: -1, config: new Map() }]);
    const writer = await TopicWriter.open(client, { topic: 'in', ...text });
    writer.send('k', value, { timestamp: 0 });
    await writer.close();
    await client.close(5_000);
    return broker;
  }

  async function start({ bootstrapServers }: EmbeddedBroker): Promise<RunningCommand> {
    const args = [program, 'in', bootstrapServers, temporaryDirectory(), String(CLOSE_TIMEOUT_MS)];
    return new RunningCommand(args, {}, [process.execPath]);
  }

  async function endOf(app: RunningCommand): Promise<CommandResult & { tookMs: number }> {
    const startMs = performance.now();
    app.kill('SIGTERM');
    const result = await app.exited;
    return { ...result, tookMs: performance.now() - startMs };
  }

  it(
    '166: ends at once when there is nothing to wait for (kafkajs#967, #1168)',
    { timeout: 60_000 },
    async () => {
      const app = await start(await brokerWith('fine'));
      await app.printed('fine\n');
      const { code, signal, tookMs, out, err } = await endOf(app);
      expect({ code, signal, err }).toEqual({ code: 0, signal: null, err: '' });
      expect(out).toMatch(/NOT_RUNNING\n$/);
      expect(tookMs).toBeLessThan(EXIT_WITHIN_MS);
    },
  );

  it(
    '167: ends by its deadline when a function never settles (kafkajs#571)',
    { timeout: 60_000 },
    async () => {
      const app = await start(await brokerWith('stuck'));
      await app.printed('stuck\n');
      const { code, signal, tookMs, out, err } = await endOf(app);
      expect({ code, signal, err }).toEqual({ code: 1, signal: null, err: '' });
      expect(out).toMatch(/NOT_RUNNING\n$/);
      expect(tookMs).toBeGreaterThan(CLOSE_TIMEOUT_MS - 100);
      expect(tookMs).toBeLessThan(CLOSE_TIMEOUT_MS + EXIT_WITHIN_MS);
    },
  );

  it(
    '167: ends by its deadline when the broker is gone (kafkajs#796)',
    { timeout: 60_000 },
    async () => {
      const running = await brokerWith('fine');
      const app = await start(running);
      await app.printed('fine\n');
      await running.close();
      broker = null;
      const { code, signal, tookMs, out, err } = await endOf(app);
      expect({ code, signal, err }).toEqual({ code: 1, signal: null, err: '' });
      expect(out).toMatch(/NOT_RUNNING\n$/);
      expect(tookMs).toBeLessThan(CLOSE_TIMEOUT_MS + EXIT_WITHIN_MS);
    },
  );

  it(
    '166: ends when it has not even found a broker (kafkajs#903, #1639)',
    { timeout: 60_000 },
    async () => {
      const running = await brokerWith('fine');
      const { bootstrapServers } = running;
      await running.close();
      broker = null;
      const app = await start({ ...running, bootstrapServers });
      await app.printed('REBALANCING\n');
      const { signal, tookMs, out } = await endOf(app);
      expect(signal).toBeNull();
      expect(out).toMatch(/NOT_RUNNING\n$|ERROR\n$/);
      expect(tookMs).toBeLessThan(CLOSE_TIMEOUT_MS + EXIT_WITHIN_MS);
    },
  );
});
