/**
 * Development and tests without a cluster: an embedded broker, and an application on it. The only
 * part of the runtime that knows the broker.
 */
import { startBroker } from '@millrace/broker';
import type { EmbeddedBroker, StartBrokerOptions } from '@millrace/broker';
import { kafkaJsClient } from './client/kafkajs/kafkajs-client.ts';
import type { StreamsConfigInput } from './config/config-input.ts';
import { KafkaStreams } from './kafka-streams.ts';
import type { CloseOptions, KafkaStreamsOptions } from './kafka-streams-options.ts';
import { CLOSE_TIMEOUT_DEFAULT_MS } from './limits.ts';
import { silentLogger } from './logging/logger.ts';
import { makeTemporaryDirectory, removeDirectory } from './platform/directories.ts';
import type { Topology } from './topology/topology.ts';

export { startBroker };
export type { EmbeddedBroker, StartBrokerOptions };

export interface EmbeddedOptions {
  /** Topics to create before the application starts, with their partition counts. */
  readonly topics?: Readonly<Record<string, number>>;
  /** A broker that runs already; otherwise one is started, and closed with the application. */
  readonly broker?: EmbeddedBroker;
  /** For the broker that is started: data directory, port, configuration. */
  readonly brokerOptions?: StartBrokerOptions;
  readonly streamsOptions?: KafkaStreamsOptions;
}

/** An application and the broker that it runs on. */
export interface EmbeddedApplication {
  readonly broker: EmbeddedBroker;
  readonly streams: KafkaStreams;
  /** Closes the application, then the broker if it was started here; false if something was left undone. */
  close(options?: CloseOptions): Promise<boolean>;
}

/** Runs a topology on an embedded broker of its own, with the topics that it needs. */
export async function startEmbedded(
  topology: Topology,
  config: StreamsConfigInput,
  options: EmbeddedOptions = {},
): Promise<EmbeddedApplication> {
  const broker = options.broker ?? (await startBroker(options.brokerOptions ?? {}));
  // State is worth no more than the topics that it comes from.
  const isTemporary = options.broker === undefined && options.brokerOptions?.dataDir === undefined;
  const stateDir = isTemporary ? makeTemporaryDirectory('millrace-state-') : null;
  const closeBroker = async (): Promise<void> => {
    if (options.broker === undefined) await broker.close();
    if (stateDir !== null) removeDirectory(stateDir);
  };
  try {
    await createTopics(broker.bootstrapServers, options.topics ?? {});
    const streams = new KafkaStreams(
      topology,
      {
        ...(stateDir === null ? {} : { 'state.dir': stateDir }),
        ...config,
        'bootstrap.servers': broker.bootstrapServers,
      },
      options.streamsOptions,
    );
    await streams.start();
    return {
      broker,
      streams,
      close: async (closeOptions) => {
        const isClean = await streams.close(closeOptions);
        await closeBroker();
        return isClean;
      },
    };
  } catch (error) {
    await closeBroker();
    throw error;
  }
}

async function createTopics(
  bootstrapServers: string,
  topics: Readonly<Record<string, number>>,
): Promise<void> {
  const names = Object.entries(topics);
  if (names.length === 0) return;
  const client = kafkaJsClient({
    clientId: 'millrace-embedded',
    logger: silentLogger(),
    config: { brokers: bootstrapServers.split(',') },
  });
  try {
    await client.admin().createTopics(
      names.map(([topic, partitionCount]) => ({
        topic,
        partitionCount,
        replicationFactor: -1,
        config: new Map<string, string>(),
      })),
    );
  } finally {
    await client.close(CLOSE_TIMEOUT_DEFAULT_MS);
  }
}
