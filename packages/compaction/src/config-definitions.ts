/** Kinds of a value; `list` is Kafka's comma-separated string. */
export type LogConfigKind = 'boolean' | 'int' | 'long' | 'double' | 'string' | 'list';

/** A broker-level name whose value, times `factor`, is the topic's default. */
export interface BrokerSynonym {
  readonly name: string;
  readonly factor: number;
}

export interface LogConfigDefinition {
  readonly name: string;
  readonly kind: LogConfigKind;
  /** As Kafka writes it, also for lists and for int64 maximum. */
  readonly default: string;
  /** Inclusive bounds. */
  readonly min?: number;
  readonly max?: number;
  readonly oneOf?: readonly string[];
  /** First one set wins; the first is the name that DescribeConfigs shows. */
  readonly synonyms: readonly BrokerSynonym[];
  /** Kafka's internal settings: accepted, not described. */
  readonly isInternal?: boolean;
  readonly doc: string;
}

/** int64 maximum as Kafka writes it: never, or no bound. */
export const LONG_MAX_TEXT = '9223372036854775807';

/** What int64 maximum becomes as a number: no duration or size comes near. */
export const LONG_MAX = Number.MAX_SAFE_INTEGER;

const INT_MAX = 2_147_483_647;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

const same = (name: string): readonly BrokerSynonym[] => [{ name, factor: 1 }];

/** Topic settings under Kafka's names, with the three compaction lags of KIP-58. */
export const logConfigDefinitions: readonly LogConfigDefinition[] = [
  {
    name: 'cleanup.policy',
    kind: 'list',
    default: 'delete',
    oneOf: ['compact', 'delete'],
    synonyms: same('log.cleanup.policy'),
    doc: 'What becomes of old segments: delete them by time and size, compact them by key, both, or (empty) neither.',
  },
  {
    name: 'compression.gzip.level',
    kind: 'int',
    default: '-1',
    min: -1,
    max: 9,
    synonyms: same('compression.gzip.level'),
    doc: 'Accepted for compatibility; batches that the broker recompresses take the default level.',
  },
  {
    name: 'compression.lz4.level',
    kind: 'int',
    default: '9',
    min: 1,
    max: 17,
    synonyms: same('compression.lz4.level'),
    doc: 'Accepted for compatibility; batches that the broker recompresses take the default level.',
  },
  {
    name: 'compression.type',
    kind: 'string',
    default: 'producer',
    oneOf: ['uncompressed', 'zstd', 'lz4', 'snappy', 'gzip', 'producer'],
    synonyms: same('compression.type'),
    doc: 'The codec on disk; `producer` keeps what the producer chose.',
  },
  {
    name: 'compression.zstd.level',
    kind: 'int',
    default: '3',
    min: -131072,
    max: 22,
    synonyms: same('compression.zstd.level'),
    doc: 'Accepted for compatibility; batches that the broker recompresses take the default level.',
  },
  {
    name: 'delete.retention.ms',
    kind: 'long',
    default: '86400000',
    min: 0,
    synonyms: same('log.cleaner.delete.retention.ms'),
    doc: 'How long tombstones and transaction markers stay after the pass that made them removable.',
  },
  {
    name: 'file.delete.delay.ms',
    kind: 'long',
    default: '60000',
    min: 0,
    synonyms: same('log.segment.delete.delay.ms'),
    doc: 'How long a removed segment stays on disk as .deleted.',
  },
  {
    name: 'flush.messages',
    kind: 'long',
    default: LONG_MAX_TEXT,
    min: 1,
    synonyms: same('log.flush.interval.messages'),
    doc: 'Records after which an append is synced before it is acknowledged.',
  },
  {
    name: 'flush.ms',
    kind: 'long',
    default: LONG_MAX_TEXT,
    min: 0,
    synonyms: [
      { name: 'log.flush.interval.ms', factor: 1 },
      { name: 'log.flush.scheduler.interval.ms', factor: 1 },
    ],
    doc: 'The longest time that appended records stay unsynced.',
  },
  {
    name: 'follower.replication.throttled.replicas',
    kind: 'list',
    default: '',
    synonyms: [],
    doc: 'Accepted for compatibility; nothing is throttled.',
  },
  {
    name: 'index.interval.bytes',
    kind: 'int',
    default: '4096',
    min: 0,
    synonyms: same('log.index.interval.bytes'),
    doc: 'Bytes of log between two index entries.',
  },
  {
    name: 'internal.segment.bytes',
    kind: 'int',
    default: '',
    min: 1,
    max: INT_MAX,
    synonyms: [],
    isInternal: true,
    doc: 'segment.bytes without its lower bound, for tests.',
  },
  {
    name: 'leader.replication.throttled.replicas',
    kind: 'list',
    default: '',
    synonyms: [],
    doc: 'Accepted for compatibility; nothing is throttled.',
  },
  {
    name: 'max.compaction.lag.ms',
    kind: 'long',
    default: LONG_MAX_TEXT,
    min: 1,
    synonyms: same('log.cleaner.max.compaction.lag.ms'),
    doc: 'The longest time that a record stays uncompacted; also bounds the age of the active segment of a compacted topic.',
  },
  {
    name: 'max.decompressed.message.bytes',
    kind: 'int',
    default: '2147483639',
    min: 1,
    max: 2147483639,
    synonyms: same('max.decompressed.message.bytes'),
    doc: 'The most that one batch may decompress to.',
  },
  {
    name: 'max.message.bytes',
    kind: 'int',
    default: '1048588',
    min: 0,
    max: INT_MAX,
    synonyms: same('message.max.bytes'),
    doc: 'The largest record batch.',
  },
  {
    name: 'message.timestamp.after.max.ms',
    kind: 'long',
    default: '3600000',
    min: 0,
    synonyms: same('log.message.timestamp.after.max.ms'),
    doc: 'How far ahead of the clock a CreateTime may lie.',
  },
  {
    name: 'message.timestamp.before.max.ms',
    kind: 'long',
    default: LONG_MAX_TEXT,
    min: 0,
    synonyms: same('log.message.timestamp.before.max.ms'),
    doc: 'How far behind the clock a CreateTime may lie.',
  },
  {
    name: 'message.timestamp.type',
    kind: 'string',
    default: 'CreateTime',
    oneOf: ['CreateTime', 'LogAppendTime'],
    synonyms: same('log.message.timestamp.type'),
    doc: 'Whose time a record carries: the producer says it, or the broker stamps it.',
  },
  {
    name: 'min.cleanable.dirty.ratio',
    kind: 'double',
    default: '0.5',
    min: 0,
    max: 1,
    synonyms: same('log.cleaner.min.cleanable.ratio'),
    doc: 'The dirty share at which a compacted log is cleaned.',
  },
  {
    name: 'min.compaction.lag.bytes',
    kind: 'long',
    default: '0',
    min: 0,
    synonyms: same('log.cleaner.min.compaction.lag.bytes'),
    doc: 'Bytes that must follow a segment before it may be compacted (KIP-58).',
  },
  {
    name: 'min.compaction.lag.messages',
    kind: 'long',
    default: '0',
    min: 0,
    synonyms: same('log.cleaner.min.compaction.lag.messages'),
    doc: 'Data records that must follow a segment before it may be compacted (KIP-58).',
  },
  {
    name: 'min.compaction.lag.ms',
    kind: 'long',
    default: '0',
    min: 0,
    synonyms: same('log.cleaner.min.compaction.lag.ms'),
    doc: 'The age that a record must reach before it may be compacted (KIP-58).',
  },
  {
    name: 'min.insync.replicas',
    kind: 'int',
    default: '1',
    min: 1,
    max: INT_MAX,
    synonyms: same('min.insync.replicas'),
    doc: 'Replicas that must hold a record before acks=all is answered.',
  },
  {
    name: 'preallocate',
    kind: 'boolean',
    default: 'false',
    synonyms: same('log.preallocate'),
    doc: 'Accepted for compatibility; segments grow as they are written.',
  },
  {
    name: 'retention.bytes',
    kind: 'long',
    default: '-1',
    synonyms: same('log.retention.bytes'),
    doc: 'The size that a partition is cut back to, by whole segments; -1: no bound.',
  },
  {
    name: 'retention.ms',
    kind: 'long',
    default: '604800000',
    min: -1,
    synonyms: [
      { name: 'log.retention.ms', factor: 1 },
      { name: 'log.retention.minutes', factor: MINUTE_MS },
      { name: 'log.retention.hours', factor: HOUR_MS },
    ],
    doc: 'The age, by record timestamp, at which a segment is deleted; -1: never.',
  },
  {
    name: 'segment.bytes',
    kind: 'int',
    default: '1073741824',
    min: 1048576,
    max: INT_MAX,
    synonyms: same('log.segment.bytes'),
    doc: 'The largest segment.',
  },
  {
    name: 'segment.index.bytes',
    kind: 'int',
    default: '10485760',
    min: 4,
    max: INT_MAX,
    synonyms: same('log.index.size.max.bytes'),
    doc: 'The largest index; a full one rolls the segment.',
  },
  {
    name: 'segment.jitter.ms',
    kind: 'long',
    default: '0',
    min: 0,
    synonyms: [
      { name: 'log.roll.jitter.ms', factor: 1 },
      { name: 'log.roll.jitter.hours', factor: HOUR_MS },
    ],
    doc: 'The most that is taken at random from segment.ms, so that segments do not all roll at once.',
  },
  {
    name: 'segment.ms',
    kind: 'long',
    default: '604800000',
    min: 1,
    synonyms: [
      { name: 'log.roll.ms', factor: 1 },
      { name: 'log.roll.hours', factor: HOUR_MS },
    ],
    doc: 'The time after which an append rolls the segment though it is not full.',
  },
  {
    name: 'unclean.leader.election.enable',
    kind: 'boolean',
    default: 'false',
    synonyms: same('unclean.leader.election.enable'),
    doc: 'Accepted for compatibility; there is no election.',
  },
];
