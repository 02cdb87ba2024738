import { startBroker } from '@millrace/broker';
import { afterAll, beforeAll, describe } from 'vitest';
import { missingForJava } from './kafka/jars.ts';
import { startKafka } from './kafka/start-kafka.ts';

export interface BrokerUnderTest {
  readonly kind: 'embedded' | 'kafka';
  readonly bootstrapServers: string;
}

interface Running {
  readonly bootstrapServers: string;
  close(): Promise<void>;
}

const starters = {
  embedded: () => startBroker(),
  kafka: () => startKafka(),
} as const;

/**
 * Runs the same tests on the embedded broker and on a real Kafka 4.4. Where the two may lawfully
 * differ a test asks for `kind` and says why.
 */
export function describeOnBothBrokers(
  name: string,
  define: (broker: () => BrokerUnderTest) => void,
): void {
  for (const kind of ['embedded', 'kafka'] as const) {
    const missing = kind === 'kafka' ? missingForJava() : null;
    const title = `${name} on ${kind === 'kafka' ? 'Kafka 4.4' : 'the embedded broker'}`;
    describe.skipIf(missing !== null)(missing === null ? title : `${title} (${missing})`, () => {
      let running: Running | null = null;
      beforeAll(async () => {
        running = await starters[kind]();
      }, 120_000);
      afterAll(async () => {
        await running?.close();
      }, 60_000);
      define(() => {
        if (running === null) throw new Error('the broker did not start');
        return { kind, bootstrapServers: running.bootstrapServers };
      });
    });
  }
}

let counter = 0;

/** A name that no other test on this broker has. */
export function unique(prefix: string): string {
  return `${prefix}-${process.pid}-${counter++}`;
}
