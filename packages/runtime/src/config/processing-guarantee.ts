import type { ConsumerValues } from './config-input.ts';
import type { GivenKeys } from './given-keys.ts';

/** As Kafka Streams has it: aborted work is cheap to repeat, and nobody sees what is not committed. */
const EXACTLY_ONCE_COMMIT_INTERVAL_MS = 100;

/** What follows from `processing.guarantee`: exactly once commits often, and reads only what is committed. */
export function applyGuarantee(
  values: {
    readonly streams: Record<string, unknown>;
    readonly consumers: readonly ConsumerValues[];
  },
  given: GivenKeys,
): void {
  if (values.streams['processing.guarantee'] !== 'exactly_once_v2') return;
  if (!given.has('commit.interval.ms')) {
    values.streams['commit.interval.ms'] = EXACTLY_ONCE_COMMIT_INTERVAL_MS;
  }
  for (const consumer of values.consumers) {
    (consumer as { 'isolation.level': string })['isolation.level'] = 'read_committed';
  }
}
