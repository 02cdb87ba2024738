import type { KafkaClient, KafkaJsClientOptions } from '../client/kafkajs/kafkajs-client.ts';
import type { Logger } from 'pino';
import type { StreamsConfigInput } from '../config/config-input.ts';
import { loadConfig } from '../config/load-config.ts';
import { createLogger } from '../logging/logger.ts';
import { openKafkaClient } from '../open-client.ts';
import { systemClock } from '../platform/clock.ts';
import { systemRandom } from '../platform/random.ts';

export interface ConnectOptions {
  /** A kafkajs instance of your own, with its brokers, TLS and SASL; bootstrap.servers is then not needed. */
  readonly kafka?: NonNullable<KafkaJsClientOptions['kafka']>;
  readonly logger?: Logger;
}

const CLIENT_ID = 'millrace';

/**
 * Opens a cluster for what is done beside a stream application: creating topics, loading them with a
 * TopicWriter, reading them with readTopic, looking after topics and groups with `cluster()`. Nothing
 * is connected before its first use; `close()` ends what was opened through it. Takes the keys of a
 * stream application's configuration that say how brokers are reached.
 *
 * @throws ConfigError listing everything that is wrong
 */
export function connect(config: StreamsConfigInput, options: ConnectOptions = {}): KafkaClient {
  const isGivenKafka = options.kafka !== undefined;
  const loaded = loadConfig({
    config,
    notRequired: ['application.id', ...(isGivenKafka ? ['bootstrap.servers'] : [])],
  });
  return openKafkaClient(loaded, options.kafka, {
    clientId: loaded.get('client.id') || CLIENT_ID,
    clock: systemClock,
    random: systemRandom,
    logger: options.logger ?? createLogger(),
  });
}
