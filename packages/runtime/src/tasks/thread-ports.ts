import type {
  FetchPort,
  GroupPort,
  ProducerOptions,
  ProducerPort,
  StreamsClient,
  TransactionalProducerPort,
  UndeliveredBatch,
} from '../client/ports.ts';
import type { StreamsConfig } from '../config/streams-config.ts';
import { INPUT_FETCH_MAX_BYTES, RESTORE_FETCH_PARTITION_BYTES } from '../limits.ts';

/** Opens a stream thread's ports as the configuration says. */
export function openGroup(
  client: StreamsClient,
  config: StreamsConfig,
  threadIndex: number,
  protocolName: string,
): GroupPort {
  const consumer = config.mainConsumer;
  const instanceId = consumer['group.instance.id'];
  return client.group({
    groupId: config.get('application.id'),
    groupInstanceId: instanceId === null ? null : `${instanceId}-${String(threadIndex)}`,
    sessionTimeoutMs: consumer['session.timeout.ms'],
    heartbeatIntervalMs: consumer['heartbeat.interval.ms'],
    rebalanceTimeoutMs: consumer['max.poll.interval.ms'],
    protocolName,
  });
}

export function openFetcher(
  client: StreamsClient,
  config: StreamsConfig,
  internalTopics: ReadonlySet<string>,
  onReady: () => void,
): FetchPort {
  const consumer = config.mainConsumer;
  return client.fetcher({
    isolationLevel:
      consumer['isolation.level'] === 'read_committed' ? 'read_committed' : 'read_uncommitted',
    maxWaitMs: consumer['fetch.max.wait.ms'],
    minBytes: consumer['fetch.min.bytes'],
    maxBytes: Math.min(consumer['fetch.max.bytes'], INPUT_FETCH_MAX_BYTES),
    maxPartitionBytes: consumer['max.partition.fetch.bytes'],
    internalTopics,
    onReady,
  });
}

/**
 * At least once, a changelog holds what was written, whether or not somebody's transaction held it; exactly
 * once, only what was committed.
 */
export function openRestoreFetcher(
  client: StreamsClient,
  config: StreamsConfig,
  internalTopics: ReadonlySet<string>,
  onReady: () => void,
): FetchPort {
  const consumer = config.restoreConsumer;
  return client.fetcher({
    isolationLevel: config.isExactlyOnce ? 'read_committed' : 'read_uncommitted',
    maxWaitMs: consumer['fetch.max.wait.ms'],
    minBytes: consumer['fetch.min.bytes'],
    maxBytes: consumer['fetch.max.bytes'],
    maxPartitionBytes: Math.max(
      consumer['max.partition.fetch.bytes'],
      RESTORE_FETCH_PARTITION_BYTES,
    ),
    internalTopics,
    onReady,
  });
}

/** Unlike a changelog, a global topic is others' data: what they aborted is none of it. */
export function openGlobalFetcher(
  client: StreamsClient,
  config: StreamsConfig,
  onReady: () => void,
): FetchPort {
  const consumer = config.globalConsumer;
  return client.fetcher({
    isolationLevel:
      consumer['isolation.level'] === 'read_committed' ? 'read_committed' : 'read_uncommitted',
    maxWaitMs: consumer['fetch.max.wait.ms'],
    minBytes: consumer['fetch.min.bytes'],
    maxBytes: consumer['fetch.max.bytes'],
    maxPartitionBytes: Math.max(
      consumer['max.partition.fetch.bytes'],
      RESTORE_FETCH_PARTITION_BYTES,
    ),
    onReady,
  });
}

export function openProducer(
  client: StreamsClient,
  config: StreamsConfig,
  internalTopics: ReadonlySet<string>,
  onDrained: () => void,
  onUndelivered: (batch: UndeliveredBatch) => Error | null,
): ProducerPort {
  const options = producerOptions(config);
  return client.producer({ ...options, internalTopics, onDrained, onUndelivered });
}

/** Whoever opens one with the same id later fences it. */
export function openTransactionalProducer(
  client: StreamsClient,
  config: StreamsConfig,
  internalTopics: ReadonlySet<string>,
  transactionalId: string,
  onDrained: () => void,
  onUndelivered: (batch: UndeliveredBatch) => Error | null,
): TransactionalProducerPort {
  return client.transactionalProducer({
    ...producerOptions(config),
    transactionalId,
    transactionTimeoutMs: config.producer['transaction.timeout.ms'],
    internalTopics,
    onDrained,
    onUndelivered,
  });
}

function producerOptions(
  config: StreamsConfig,
): Omit<ProducerOptions, 'onDrained' | 'onUndelivered'> {
  const { producer } = config;
  return {
    lingerMs: producer['linger.ms'],
    batchBytes: producer['batch.size'],
    bufferBytes: producer['buffer.memory'],
    requestTimeoutMs: config.get('request.timeout.ms'),
    deliveryTimeoutMs: producer['delivery.timeout.ms'],
    compression: producer['compression.type'] as 'none',
    maxRequestBytes: producer['max.request.size'],
  };
}
