import { produceHandler } from './00-produce.ts';
import { fetchHandler } from './01-fetch.ts';
import { listOffsetsHandler } from './02-list-offsets.ts';
import { metadataHandler } from './03-metadata.ts';
import { saslHandshakeHandler } from './17-sasl-handshake.ts';
import { apiVersionsHandler } from './18-api-versions.ts';
import { createTopicsHandler } from './19-create-topics.ts';
import { deleteTopicsHandler } from './20-delete-topics.ts';
import { deleteRecordsHandler } from './21-delete-records.ts';
import { offsetForLeaderEpochHandler } from './23-offset-for-leader-epoch.ts';
import { describeConfigsHandler } from './32-describe-configs.ts';
import { alterConfigsHandler } from './33-alter-configs.ts';
import { saslAuthenticateHandler } from './36-sasl-authenticate.ts';
import { createPartitionsHandler } from './37-create-partitions.ts';
import { incrementalAlterConfigsHandler } from './44-incremental-alter-configs.ts';
import { describeClusterHandler } from './60-describe-cluster.ts';
import { describeTopicPartitionsHandler } from './75-describe-topic-partitions.ts';
import { registerGroupHandlers } from './group-handlers.ts';
import { HandlerRegistry } from './registry.ts';
import { registerTransactionHandlers } from './transaction-handlers.ts';

/** Every API key that this broker serves. */
export function allHandlers(): HandlerRegistry {
  const registry = new HandlerRegistry();
  registry
    .register(produceHandler)
    .register(fetchHandler)
    .register(listOffsetsHandler)
    .register(metadataHandler)
    .register(saslHandshakeHandler)
    .register(apiVersionsHandler(registry))
    .register(createTopicsHandler)
    .register(deleteTopicsHandler)
    .register(deleteRecordsHandler)
    .register(offsetForLeaderEpochHandler)
    .register(describeConfigsHandler)
    .register(alterConfigsHandler)
    .register(saslAuthenticateHandler)
    .register(createPartitionsHandler)
    .register(incrementalAlterConfigsHandler)
    .register(describeClusterHandler)
    .register(describeTopicPartitionsHandler);
  registerGroupHandlers(registry);
  registerTransactionHandlers(registry);
  return registry;
}
