import type { Logger } from 'pino';
import type { StreamsClient } from './client/ports.ts';
import type { StreamsConfig } from './config/streams-config.ts';
import { ConfigError } from './errors.ts';
import type { KafkaStreamsOptions } from './kafka-streams-options.ts';
import type { Clock } from './platform/clock.ts';
import type { Random } from './platform/random.ts';

export interface ClientContext {
  readonly clientId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The way to Kafka: the caller's own, or kafkajs's connections. */
export function openClient(
  _config: StreamsConfig,
  options: KafkaStreamsOptions,
  _context: ClientContext,
): Promise<StreamsClient> {
  if (options.client !== undefined) return Promise.resolve(options.client);
  return Promise.reject(new ConfigError('no client yet'));
}
