import type { Clock } from '@millrace/compaction';
import type { Logger } from 'pino';
import type { BrokerConfig } from './config.ts';
import type { GroupService } from './groups/group-service.ts';
import type { StorageErrors } from './storage-errors.ts';
import type { TopicRegistry } from './topics/registry.ts';
import { TRANSACTION_STATE_TOPIC } from './topics/topic.ts';
import { TransactionCoordinator } from './transactions/coordinator.ts';
import type { OpenTransaction } from './transactions/loader.ts';
import type { ProducerIds } from './transactions/producer-ids.ts';

/** What a producer's entry says where no transaction is open. */
const NO_OFFSET = -1n;

interface TransactionParts {
  readonly topics: TopicRegistry;
  readonly groups: GroupService;
  readonly producerIds: ProducerIds;
  readonly config: BrokerConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storageErrors: StorageErrors;
}

/** The transaction coordinator over the registry's `__transaction_state`. */
export function createTransactions(parts: TransactionParts): TransactionCoordinator {
  const { topics, groups, producerIds, config, clock, logger, storageErrors } = parts;
  return new TransactionCoordinator({
    clock,
    logger,
    storageErrors,
    config: {
      maxTimeoutMs: config['transaction.max.timeout.ms'],
      idExpirationMs: config['transactional.id.expiration.ms'],
      loadBufferBytes: config['transaction.state.log.load.buffer.size'],
    },
    stateTopic: {
      get partitionCount() {
        return topics.get(TRANSACTION_STATE_TOPIC)?.partitions.length ?? 0;
      },
      partition: (index) => topics.partition(TRANSACTION_STATE_TOPIC, index),
    },
    topics,
    offsets: groups,
    openTransactions: () => openTransactions(topics),
    producerIds,
  });
}

function* openTransactions(topics: TopicRegistry): Generator<OpenTransaction> {
  for (const { name, partitions } of topics.all()) {
    for (const { index, log } of partitions) {
      for (const producer of log.producers()) {
        if (producer.currentTxnFirstOffset === NO_OFFSET) continue;
        const { producerId, producerEpoch, coordinatorEpoch } = producer;
        yield { topic: name, partition: index, producerId, producerEpoch, coordinatorEpoch };
      }
    }
  }
}
