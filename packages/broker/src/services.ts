import type { Clock, LogCleaner } from '@millrace/compaction';
import type { Logger } from 'pino';
import type { BrokerConfigs } from './broker-configs.ts';
import type { BrokerConfig } from './config.ts';
import type { FetchPurgatory } from './fetch/purgatory.ts';
import type { GroupService } from './groups/group-service.ts';
import type { ResponseMemory } from './server/response-memory.ts';
import type { StorageErrors } from './storage-errors.ts';
import type { TopicRegistry } from './topics/registry.ts';
import type { TransactionCoordinator } from './transactions/coordinator.ts';
import type { ProducerIds } from './transactions/producer-ids.ts';

/** Everything that handlers, groups and timers share in one broker. Built once, in `broker.ts`. */
export interface BrokerServices {
  /** Who we are, as Metadata and FindCoordinator tell clients. */
  readonly node: BrokerNode;
  /** As given at start: what may change meanwhile is asked of `configs`. */
  readonly config: BrokerConfig;
  /** What is set, and by whom; also the defaults of topics. */
  readonly configs: BrokerConfigs;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storageErrors: StorageErrors;
  readonly topics: TopicRegistry;
  readonly cleaner: LogCleaner;
  readonly purgatory: FetchPurgatory;
  readonly responseMemory: ResponseMemory;
  readonly groups: GroupService;
  readonly producerIds: ProducerIds;
  readonly transactions: TransactionCoordinator;
}

interface BrokerNode {
  readonly nodeId: number;
  readonly clusterId: string;
  readonly host: string;
  /** Known once the server listens. */
  readonly port: number;
}
