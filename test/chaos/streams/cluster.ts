import type { SeededRandom } from '../../golden/fuzz/random.ts';

/** What the application runs on, and how it dies. */
export interface ChaosCluster {
  readonly bootstrapServers: string;
  /** Of all nodes; they keep theirs. */
  readonly ports: readonly number[];
  /** Replicas of topics; -1: the broker's default. */
  readonly replicationFactor: number;
  /** Whether it compacts topics. */
  readonly isCompacting: boolean;
  /** kill -9 of one node; returns which. */
  kill(random: SeededRandom): Promise<string>;
  /** Starts it again on its data. */
  restart(): Promise<void>;
  /** Resolves when another node may be killed. */
  settled(): Promise<void>;
  /** Ends it; what of its log is worth keeping goes into the folder. Returns what it should not have said. */
  stop(logDir: string): Promise<readonly string[]>;
}
