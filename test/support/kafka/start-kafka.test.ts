import { type KafkaConfig, Kafka, logLevel } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { missingForJava } from './jars.ts';
import { startKafka } from './start-kafka.ts';

const missing = missingForJava();

async function createsTopic(config: KafkaConfig, replicationFactor: number): Promise<number> {
  const admin = new Kafka({ ...config, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const topics = [{ topic: 'x', numPartitions: 2, replicationFactor }];
    expect(await admin.createTopics({ topics, waitForLeaders: true })).toBe(true);
    return (await admin.describeCluster()).brokers.length;
  } finally {
    await admin.disconnect();
  }
}

describe.skipIf(missing !== null)(`a real Kafka${missing === null ? '' : ` (${missing})`}`, () => {
  it('serves SASL_SSL beside plain', async () => {
    const kafka = await startKafka({ saslSsl: true });
    try {
      const { bootstrapServers, ca, username, password } = kafka.saslSsl as NonNullable<
        typeof kafka.saslSsl
      >;
      const secure: KafkaConfig = {
        brokers: [bootstrapServers],
        ssl: { ca: [ca] },
        sasl: { mechanism: 'plain', username, password },
      };
      expect(await createsTopic(secure, 1)).toBe(1);
    } finally {
      await kafka.close();
    }
  }, 60_000);

  it('has three nodes, one of which dies and comes back', async () => {
    const kafka = await startKafka({ nodes: 3 });
    try {
      expect(await createsTopic({ brokers: kafka.bootstrapServers.split(',') }, 3)).toBe(3);
      const before = kafka.pid(2);
      await kafka.kill(2);
      expect(() => kafka.pid(2)).toThrow(/does not run/);
      await kafka.restart(2);
      expect(kafka.pid(2)).not.toBe(before);
    } finally {
      await kafka.close();
    }
  }, 120_000);
});
