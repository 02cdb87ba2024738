/** The coordinator's configuration under Kafka's names, times in ms, sizes in bytes. */
export interface GroupConfig {
  /** `group.min.session.timeout.ms` and `group.max.session.timeout.ms`, both inclusive. */
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  /** `group.initial.rebalance.delay.ms`: Kafka waits 3000, this broker 0 unless it is told otherwise. */
  readonly initialRebalanceDelayMs: number;
  /** `group.max.size`. */
  readonly maxSize: number;
  /** `offset.metadata.max.bytes`; counted in UTF-16 units, as Kafka does. */
  readonly offsetMetadataMaxBytes: number;
  /** `offsets.retention.minutes`. */
  readonly offsetsRetentionMs: number;
  /** `offsets.retention.check.interval.ms`. */
  readonly offsetsRetentionCheckIntervalMs: number;
  /** `offsets.load.buffer.size`. */
  readonly offsetsLoadBufferBytes: number;
}

export const defaultGroupConfig: GroupConfig = {
  minSessionTimeoutMs: 6_000,
  maxSessionTimeoutMs: 1_800_000,
  initialRebalanceDelayMs: 0,
  maxSize: 2_147_483_647,
  offsetMetadataMaxBytes: 4_096,
  offsetsRetentionMs: 10_080 * 60_000,
  offsetsRetentionCheckIntervalMs: 600_000,
  offsetsLoadBufferBytes: 5_242_880,
};
