import { startBroker } from '@millrace/broker';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import { missingForJava } from './kafka/jars.ts';
import { SHORT_SESSIONS, startKafka } from './kafka/start-kafka.ts';
import type { SharedKafka } from './shared-kafka.ts';

export interface BrokerUnderTest {
  readonly kind: 'embedded' | 'kafka';
  readonly bootstrapServers: string;
  /** Where its logs are, a folder per partition. */
  readonly dataDir: string;
}

/** Broker configuration that both understand. */
type CommonConfig = Readonly<Record<string, string>>;

/** Levels of Kafka's features, where they are not to be the newest. */
type Features = Readonly<Record<string, number>>;

interface Running {
  readonly bootstrapServers: string;
  readonly dataDir: string;
  close(): Promise<void>;
}

const starters = {
  embedded: (config: CommonConfig): Promise<Running> =>
    startBroker({ config: { ...SHORT_SESSIONS, ...config } }),
  kafka: async (config: CommonConfig, features: Features): Promise<Running> => {
    // A rung without one has none to provide.
    const shared = inject('sharedKafka') as SharedKafka | null | undefined;
    const isSpecial = Object.keys({ ...config, ...features }).length > 0;
    if (!isSpecial && shared) return { ...shared, close: () => Promise.resolve() };
    const kafka = await startKafka({ config, features });
    return {
      bootstrapServers: kafka.bootstrapServers,
      dataDir: kafka.dataDir(1),
      close: () => kafka.close(),
    };
  },
} as const;

/**
 * Runs the same tests on the embedded broker and on a real Kafka 4.4. Where the two may lawfully
 * differ a test asks for `kind` and says why.
 */
export function describeOnBothBrokers(
  name: string,
  define: (broker: () => BrokerUnderTest) => void,
  config: CommonConfig = {},
  features: Features = {},
): void {
  for (const kind of ['embedded', 'kafka'] as const) {
    const missing = kind === 'kafka' ? missingForJava() : null;
    const title = `${name} on ${kind === 'kafka' ? 'Kafka 4.4' : 'the embedded broker'}`;
    describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
      let running: Running | null = null;
      beforeAll(async () => {
        running = await starters[kind](config, features);
      }, 120_000);
      afterAll(async () => {
        await running?.close();
      }, 60_000);
      define(() => {
        if (running === null) throw new Error('the broker did not start');
        const { bootstrapServers, dataDir } = running;
        return { kind, bootstrapServers, dataDir };
      });
    });
  }
}

let counter = 0;

/** A name that no other test on this broker has. */
export function unique(prefix: string): string {
  return `${prefix}-${process.pid}-${counter++}`;
}
