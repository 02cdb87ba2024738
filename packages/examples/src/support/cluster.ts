import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type StreamsClient } from '@millrace/runtime';
import { startBroker, type EmbeddedBroker } from '@millrace/runtime/embedded';
import type { Logger } from 'pino';

export interface ClusterOptions {
  /** A cluster that runs already; null: a broker is started in this process, in a thread of its own. */
  readonly bootstrapServers: string | null;
  /** Of that broker; null: a temporary one. */
  readonly dataDir: string | null;
  readonly logger: Logger;
}

/** The cluster that an example works on, and the ways to it. */
export interface Cluster {
  readonly bootstrapServers: string;
  readonly isEmbedded: boolean;
  readonly client: StreamsClient;
  close(): Promise<void>;
}

const CLOSE_TIMEOUT_MS = 30_000;

export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, logger } = options;
  let broker: EmbeddedBroker | null = null;
  if (options.bootstrapServers === null) {
    broker = await startBroker({ logger, ...(dataDir === null ? {} : { dataDir }) });
  }
  const bootstrapServers = broker?.bootstrapServers ?? (options.bootstrapServers as string);
  const client = connect({ 'bootstrap.servers': bootstrapServers }, { logger });
  return {
    bootstrapServers,
    isEmbedded: broker !== null,
    client,
    async close() {
      await client.close(CLOSE_TIMEOUT_MS);
      await broker?.close();
    },
  };
}

/** The directory that was asked for, or a temporary one that `remove` removes. */
export async function stateDirectory(
  path: string | null,
): Promise<{ readonly path: string; remove(): Promise<void> }> {
  if (path !== null) return { path, remove: () => Promise.resolve() };
  const temporary = await mkdtemp(join(tmpdir(), 'millrace-state-'));
  return { path: temporary, remove: () => rm(temporary, { recursive: true, force: true }) };
}
