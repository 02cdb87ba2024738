import type { Logger } from 'pino';
import type { ProducerPort } from '../client/ports.ts';
import { TaskRecordCollector } from '../commit/record-collector.ts';
import { DeadLetters } from './dead-letters.ts';
import { DeliveryFailures } from './delivery-failure.ts';
import type { StreamThreadOptions } from './thread-options.ts';
import { openProducer } from './thread-ports.ts';

/** A stream thread's producer, and the dead letters of what it could not deliver. */
export interface ThreadOutput {
  readonly producer: ProducerPort;
  readonly deadLetters: DeadLetters;
}

export function openOutput(
  { client, config, clock, random }: StreamThreadOptions,
  logger: Logger,
  onDrained: () => void,
): ThreadOutput {
  const deadLetterTopic = config.get('errors.dead.letter.queue.topic.name');
  const deadLetters = new DeadLetters((record) => collector.deadLetter(record));
  const failures = new DeliveryFailures({
    production: config.get('production.exception.handler'),
    deadLetterTopic,
    deadLetters,
    isDeadLetterTopic: (topic) => topic === deadLetterTopic || collector.hasDeadLetters(topic),
    logger,
  });
  const producer = openProducer(client, config, onDrained, (batch) => failures.undelivered(batch));
  const collector = new TaskRecordCollector({
    producer,
    random,
    onFailure: (_node, _record, error) => {
      throw error;
    },
    onDropped: () => undefined,
    now: () => clock.now(),
  });
  return { producer, deadLetters };
}
