import { openCluster, type Cluster } from '@millrace/examples';
import { createLogger } from '@millrace/runtime';
import { afterEach } from 'vitest';

/** Loud lines fail the test that provokes them. */
export const logger = createLogger({ level: 'warn' });

const open: Cluster[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((cluster) => cluster.close()));
});

/** The ways to a cluster that runs, closed after the test; null: with a broker of its own. */
export async function clusterAt(bootstrapServers: string | null): Promise<Cluster> {
  const cluster = await openCluster({ bootstrapServers, dataDir: null, logger });
  open.push(cluster);
  return cluster;
}
