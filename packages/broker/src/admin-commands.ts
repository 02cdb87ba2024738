import type { LogDir } from '@millrace/compaction';
import { AdminError, type AdminCommand } from './server/admin-socket.ts';
import { bootstrapServersOf } from './server/loopback.ts';
import type { BrokerServices } from './services.ts';
import type { Topic } from './topics/topic.ts';

export interface AdminContext {
  readonly broker: BrokerServices;
  readonly logDir: LogDir;
  readonly dataDir: string;
  readonly startedMs: number;
  readonly connectionCount: () => number;
  /** Starts the stop and returns. */
  readonly stop: () => void;
}

/** What can be asked of a running broker over its admin socket. */
export function adminCommands(context: AdminContext): ReadonlyMap<string, AdminCommand> {
  return new Map<string, AdminCommand>([
    ['status', () => status(context)],
    ['topics', (args) => topics(context, args)],
    ['metrics', () => context.broker.cleaner.metrics()],
    ['cleaner', () => context.broker.cleaner.status()],
    ['flush', () => flush(context)],
    [
      'stop',
      () => {
        context.stop();
      },
    ],
  ]);
}

/** Everything that was appended is on disk when this resolves. */
async function flush({ logDir }: AdminContext): Promise<void> {
  await Promise.all([...logDir.logs()].map((log) => log.flush()));
  await logDir.checkpoint();
}

async function status({
  broker,
  dataDir,
  startedMs,
  connectionCount,
}: AdminContext): Promise<unknown> {
  const { nodeId, clusterId, host, port } = broker.node;
  const cleaner = await broker.cleaner.status();
  let partitions = 0;
  let sizeInBytes = 0;
  for (const topic of broker.topics.all()) {
    partitions += topic.partitions.length;
    for (const { log } of topic.partitions) sizeInBytes += log.sizeInBytes;
  }
  return {
    pid: process.pid,
    nodeId,
    clusterId,
    bootstrapServers: bootstrapServersOf(host, port),
    dataDir,
    uptimeMs: Math.round(broker.clock.monotonicMs() - startedMs),
    connections: connectionCount(),
    parkedFetches: broker.purgatory.parkedCount,
    topics: broker.topics.size,
    partitions,
    sizeInBytes,
    compactedPartitions: cleaner.partitions.length,
    uncleanablePartitions: cleaner.partitions.filter((one) => one.uncleanable !== null).length,
    cleanerThreads: cleaner.threadCount,
    deadCleanerThreads: cleaner.deadThreadCount,
    cleanerPasses: cleaner.passCount,
  };
}

/** All topics in short, or the one that `args.topic` names in full. */
function topics({ broker }: AdminContext, args: Readonly<Record<string, unknown>>): unknown {
  const { topic: name } = args;
  if (name === undefined) {
    return [...broker.topics.all()]
      .map((topic) => ({
        name: topic.name,
        topicId: topic.topicId,
        isInternal: topic.isInternal,
        partitions: topic.partitions.length,
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }
  const topic = typeof name === 'string' ? broker.topics.get(name) : undefined;
  if (topic === undefined) {
    throw new AdminError('ADMIN_UNKNOWN_TOPIC', `there is no topic ${JSON.stringify(name)}`);
  }
  return describe(topic);
}

function describe(topic: Topic): unknown {
  return {
    name: topic.name,
    topicId: topic.topicId,
    isInternal: topic.isInternal,
    configs: Object.fromEntries(topic.configs),
    partitions: topic.partitions.map(({ index, log, leaderEpoch }) => ({
      partition: index,
      leaderEpoch,
      logStartOffset: log.logStartOffset,
      highWatermark: log.highWatermark,
      lastStableOffset: log.lastStableOffset,
      logEndOffset: log.logEndOffset,
      sizeInBytes: log.sizeInBytes,
    })),
  };
}
