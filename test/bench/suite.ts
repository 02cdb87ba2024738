import type { Figure } from './figure.ts';

export interface BenchOptions {
  /** Records of a run; null: what the suite takes. Fewer show that it works, and nothing else. */
  readonly records: number | null;
  /** Runs of each side. */
  readonly rounds: number;
}

/** Benchmarks that are measured in one go. */
export interface Suite {
  /** Names of what it measures; the first part of each is the suite's own. */
  readonly rows: readonly string[];
  /** Prints each figure as soon as it has it, and returns them all for the table. */
  measure(rows: readonly string[], options: BenchOptions): Promise<readonly Figure[]>;
}
