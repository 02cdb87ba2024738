/** `millrace reset` beside Kafka's own tool, on two applications that are alike. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startBroker } from '@millrace/broker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../support/command-line.ts';
import { kafkaJars, missingForJava } from '../support/kafka/jars.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TOOL_MS = 60_000;
const CASE_MS = 2 * TOOL_MS;
const OURS = 'ours';
const JAVA = 'java';
const APPLICATIONS = [OURS, JAVA] as const;
const PARTITIONS = 3;
const T = 1_700_000_000_000;
/** Of its 20 records each partition has lost the first four. */
const LOG_START = 4;
const END = 20;
const COMMITTED = 11;
const SUFFIXES = [
  ...['counts-changelog', 'by-word-repartition', 'user-changelog', 'changelog-copy', 'changelogs'],
  ...['orders-subscription-registration-topic', 'orders-subscription-response-topic'],
  ...['KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000007-topic'],
  ...['KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000012-topic'],
  ...['KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-one-topic', 'in-repartition'],
];

const missing = missingForJava();
const title = "millrace reset does what Kafka's reset tool does";

describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  const directory = temporaryDirectory();
  let broker: Awaited<ReturnType<typeof startBroker>>;

  beforeAll(async () => {
    broker = await startBroker({ dataDir: join(directory, 'data') });
    const partitions = ['-p', String(PARTITIONS), '-c', 'retention.ms=-1'];
    await millrace('topics', 'create', 'in', ...partitions);
    const lines = Array.from({ length: PARTITIONS * END }, (_, i) =>
      JSON.stringify({
        value: String(i),
        partition: i % PARTITIONS,
        timestamp: T + Math.floor(i / PARTITIONS) * 1_000,
      }),
    );
    await runHere(
      [...['produce', 'in', '--json', '-b'], broker.bootstrapServers],
      lines.join('\n'),
    );
    await millrace('delete-records', 'in', '--before', String(LOG_START));
  });
  afterAll(() => broker.close());

  async function millrace(...args: string[]): Promise<string> {
    const { code, out, err } = await runHere([...args, '-b', broker.bootstrapServers]);
    expect(code, err).toBe(0);
    return out;
  }

  async function kafkaTool(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(
      'java',
      [
        ...['-cp', join(kafkaJars(), '*'), 'org.apache.kafka.tools.StreamsResetter'],
        ...['--bootstrap-server', broker.bootstrapServers, ...args],
      ],
      { timeout: TOOL_MS },
    );
    return stdout;
  }

  async function committed(application: string): Promise<(string | null)[]> {
    const described = JSON.parse(await millrace('groups', 'describe', application, '--json')) as {
      partitions: { committedOffset: string | null }[];
    };
    return described.partitions.map(({ committedOffset }) => committedOffset);
  }

  it.each([
    [[], '4'],
    [['--to-latest'], '20'],
    [['--to-offset', '2'], '4'],
    [['--to-offset', '9'], '9'],
    [['--shift-by', '-3'], '8'],
    [['--shift-by', '30'], '20'],
    // Record 15, and after the last one.
    [['--to-datetime', new Date(T + 14_500).toISOString().slice(0, -1)], '15'],
    [['--to-datetime', new Date(T + 100_000).toISOString().slice(0, -1)], '20'],
    [['--by-duration', 'PT24H'], '20'],
    [['--from-file', join(directory, 'offsets.csv')], '7'],
  ])(
    'with %j',
    async (target, expected) => {
      writeFileSync(
        join(directory, 'offsets.csv'),
        Array.from({ length: PARTITIONS }, (_, partition) => `in,${partition},7\n`).join(''),
      );
      for (const application of APPLICATIONS) {
        const offset = ['--to-offset', String(COMMITTED), '--execute'];
        await millrace('groups', 'reset', application, '--topic', 'in', ...offset);
      }
      const input = ['--input-topics', 'in', ...target];
      await Promise.all([
        millrace('reset', OURS, ...input, '--execute'),
        kafkaTool('--application-id', JAVA, ...input),
      ]);
      const theirs = await committed(JAVA);
      expect(theirs).toEqual(Array(PARTITIONS).fill(expected));
      expect(await committed(OURS)).toEqual(theirs);
    },
    CASE_MS,
  );

  it(
    'and deletes the same topics',
    async () => {
      for (const application of APPLICATIONS) {
        for (const suffix of SUFFIXES) {
          await millrace('topics', 'create', `${application}-${suffix}`, '-p', '1');
        }
      }
      const inputs = (application: string): string[] => [
        ...['--input-topics', `in,${application}-in-repartition`],
      ];
      await millrace('reset', OURS, ...inputs(OURS), '--execute');
      await kafkaTool('--application-id', JAVA, ...inputs(JAVA));
      const topics = JSON.parse(await millrace('topics', 'list', '--json')) as { topic: string }[];
      const left = (application: string): string[] =>
        topics
          .filter(({ topic }) => topic.startsWith(`${application}-`))
          .map(({ topic }) => topic.slice(application.length + 1));
      expect(left(JAVA)).toEqual([
        ...['KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-one-topic', 'changelog-copy', 'changelogs'],
        ...['in-repartition'],
      ]);
      expect(left(OURS)).toEqual(left(JAVA));
    },
    CASE_MS,
  );
});
