import type { TestProject } from 'vitest/node';
import { missingForJava } from './kafka/jars.ts';
import { startKafka } from './kafka/start-kafka.ts';

export interface SharedKafka {
  readonly bootstrapServers: string;
  readonly dataDir: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    /** null on a machine that cannot run Java. */
    sharedKafka: SharedKafka | null;
  }
}

/** Tests write records of long ago, which the first look for expired segments would find after half a minute. */
const LONG_LIVED = { 'log.initial.task.delay.ms': '3600000' };

/**
 * One Kafka for all files of a rung that ask for nothing special of it: each would otherwise wait for
 * one of its own, and begin on code that Java has not compiled yet.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (missingForJava() !== null) {
    project.provide('sharedKafka', null);
    return () => Promise.resolve();
  }
  const kafka = await startKafka({ purpose: 'shared', config: LONG_LIVED });
  project.provide('sharedKafka', {
    bootstrapServers: kafka.bootstrapServers,
    dataDir: kafka.dataDir(1),
  });
  return () => kafka.close();
}
