import type { Logger } from 'pino';
import type { KafkaClient, KafkaJsClientOptions } from './client/kafkajs/kafkajs-client.ts';
import { kafkaJsClient } from './client/kafkajs/kafkajs-client.ts';
import type { StreamsClient } from './client/ports.ts';
import type { StreamsConfig } from './config/streams-config.ts';
import type { KafkaStreamsOptions } from './kafka-streams-options.ts';
import type { Clock } from './platform/clock.ts';
import type { Random } from './platform/random.ts';

export interface ClientContext {
  readonly clientId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The way to Kafka: the caller's own, or kafkajs's connections as the configuration describes them. */
export function openClient(
  config: StreamsConfig,
  options: KafkaStreamsOptions,
  context: ClientContext,
): StreamsClient {
  return options.client ?? openKafkaClient(config, options.kafka, context);
}

/** kafkajs's connections, of the caller's own instance or as the configuration describes them. */
export function openKafkaClient(
  config: StreamsConfig,
  kafka: KafkaJsClientOptions['kafka'],
  context: ClientContext,
): KafkaClient {
  const requestTimeoutMs = config.get('request.timeout.ms');
  return kafkaJsClient(
    kafka === undefined
      ? { ...context, requestTimeoutMs, config: kafkaConfig(config) }
      : { ...context, requestTimeoutMs, kafka },
  );
}

type KafkaConfig = NonNullable<KafkaJsClientOptions['config']>;

/** What needs more than this (certificates, other mechanisms) comes with a Kafka instance of the user's own. */
function kafkaConfig(config: StreamsConfig): KafkaConfig {
  const protocol = config.get('security.protocol');
  const mechanism = config.get('sasl.mechanism');
  const username = config.get('sasl.username') ?? '';
  const password = config.get('sasl.password') ?? '';
  const kafka: KafkaConfig = {
    brokers: [...config.get('bootstrap.servers')],
    ssl: protocol === 'SSL' || protocol === 'SASL_SSL',
  };
  if (!protocol.startsWith('SASL_')) return kafka;
  if (mechanism === 'SCRAM-SHA-256') {
    kafka.sasl = { mechanism: 'scram-sha-256', username, password };
  } else if (mechanism === 'SCRAM-SHA-512') {
    kafka.sasl = { mechanism: 'scram-sha-512', username, password };
  } else {
    kafka.sasl = { mechanism: 'plain', username, password };
  }
  return kafka;
}
