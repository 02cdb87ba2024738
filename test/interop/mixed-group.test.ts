/** Kafka Streams in Java and a Millrace application under one application.id: whoever comes second is refused. */
import { join } from 'node:path';
import { startBroker } from '@millrace/broker';
import {
  AssignmentVersionError,
  serdes,
  StreamsBuilder,
  type KafkaStreams,
} from '@millrace/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applicationsOn } from '../support/applications.ts';
import { missingForJava } from '../support/kafka/jars.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { JavaClients } from './java-clients.ts';

const DEADLINE = { timeout: 30_000, interval: 50 };
const TEST_MS = 90_000;
const INPUT = 'lines';
const OUTPUT = 'counts';

const missing = missingForJava();
const title = 'a group of Java and of Millrace';

describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
  const root = temporaryDirectory();
  let broker: Awaited<ReturnType<typeof startBroker>>;
  let java: JavaClients;
  const apps = applicationsOn(() => broker);

  beforeAll(async () => {
    broker = await startBroker({ dataDir: join(root, 'data') });
    java = new JavaClients(broker.bootstrapServers);
    for (const topic of [INPUT, OUTPUT]) {
      await java.admin('createTopic', { topic, partitions: 2 });
    }
  }, TEST_MS);
  afterAll(async () => {
    await java.close();
    await broker.close();
  });

  function startOurs(applicationId: string): Promise<KafkaStreams> {
    const text = serdes.string();
    const builder = new StreamsBuilder();
    builder.stream(INPUT, { key: text, value: text }).to(OUTPUT);
    return apps.start(builder.build(), { 'application.id': applicationId });
  }

  const startJava = (applicationId: string): ReturnType<JavaClients['wordCount']> =>
    java.wordCount(INPUT, OUTPUT, {
      'application.id': applicationId,
      'state.dir': join(root, 'state'),
      'group.protocol': 'classic',
    });

  it(
    'is refused to Millrace, with what to do, and Java goes on',
    async () => {
      const theirs = await startJava('java-first');
      await expect.poll(() => theirs.state(), DEADLINE).toBe('RUNNING');
      const ours = await startOurs('java-first');
      await expect.poll(() => ours.state, DEADLINE).toBe('ERROR');
      expect(ours.failure).toBeInstanceOf(AssignmentVersionError);
      expect(ours.failure?.message).toMatch(/Kafka Streams in Java.*another application\.id/);
      expect(await theirs.state()).toBe('RUNNING');
      await theirs.close();
    },
    TEST_MS,
  );

  it(
    'is refused to Java, and Millrace goes on',
    async () => {
      const ours = await startOurs('millrace-first');
      await expect.poll(() => ours.state, DEADLINE).toBe('RUNNING');
      const theirs = await startJava('millrace-first');
      await expect
        .poll(() => theirs.state(), DEADLINE)
        .toContain('InconsistentGroupProtocolException');
      expect(ours.state).toBe('RUNNING');
      await theirs.close();
    },
    TEST_MS,
  );
});
